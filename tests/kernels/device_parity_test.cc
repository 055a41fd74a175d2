// The parity tests on the recording device: what a real one is asked in kernels_cuda_test.

#include "tests/parity/device_parity.h"

#include "tests/kernels/recording_device.h"

namespace hotrow::testing {
namespace {

TEST(DeviceParity, TheRecordingDeviceEqualsTheHost) {
  DeviceRecord record;
  RecordingDevice device(record);
  {
    DeviceParity parity(device);
    parity.ExpectEqualOptimizers();
    parity.ExpectEqualInitialValues();
    parity.ExpectEqualDedupe();
    parity.ExpectRowsFoundAndCopied();
  }
  EXPECT_EQ(record.allocations, 0);
}

}  // namespace
}  // namespace hotrow::testing
