// The CUDA runtime, with and without a device.

#include "kernels/space/cuda_runtime.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/space/device_buffer.h"

namespace hotrow::testing {
namespace {

TEST(CudaRuntime, StartsWithoutADriverAndSaysThatThereIsNoDevice) {
  const int devices = CountCudaDevices();
  EXPECT_GE(devices, 0);
  for (const int number : {-1, devices}) {
    ResultOr<std::unique_ptr<DeviceRuntime>> runtime = OpenCudaRuntime(number);
    EXPECT_EQ(runtime.result().code(), Code::kUnavailable);
    EXPECT_STRNE(runtime.result().message(), "");
  }
}

TEST(CudaRuntime, CopiesThroughTheDeviceInOrderOfTheStreams) {
  if (CountCudaDevices() == 0) GTEST_SKIP() << "no CUDA device";
  const std::unique_ptr<DeviceRuntime> runtime = *OpenCudaRuntime(0);
  const std::unique_ptr<DeviceStream> first = *runtime->OpenStream();
  const std::unique_ptr<DeviceStream> second = *runtime->OpenStream();
  constexpr int64_t kValues = 1 << 20;
  std::vector<int> from(kValues);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i * 7919);
  std::vector<int> to(from.size());
  const DeviceBuffer<int> buffer = *DeviceBuffer<int>::CreateSync(*runtime, kValues);
  EXPECT_TRUE(first->Zero(buffer.data(), buffer.bytes()).ok());
  EXPECT_TRUE(first->Copy(buffer.data(), from.data(), buffer.bytes()).ok());
  EXPECT_TRUE(second->WaitFor(*first).ok());
  EXPECT_TRUE(second->Copy(to.data(), buffer.data(), buffer.bytes()).ok());
  EXPECT_TRUE(second->FinishSync().ok());
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace hotrow::testing
