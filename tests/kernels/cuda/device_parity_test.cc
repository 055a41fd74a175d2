// Device 0 against the host.

#include "tests/parity/device_parity.h"

#include "kernels/space/cuda_runtime.h"

namespace hotrow::testing {
namespace {

class CudaParity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (CountCudaDevices() == 0) GTEST_SKIP() << "no CUDA device";
    runtime_ = *OpenCudaRuntime(0);
    parity_ = std::make_unique<DeviceParity>(*runtime_);
  }

  std::unique_ptr<DeviceRuntime> runtime_;
  std::unique_ptr<DeviceParity> parity_;
};

TEST_F(CudaParity, OptimizersChangeRowsAsTheHostDoes) { parity_->ExpectEqualOptimizers(); }
TEST_F(CudaParity, InitialValuesAreTheHosts) { parity_->ExpectEqualInitialValues(); }
TEST_F(CudaParity, UniqueKeysAreTheHosts) { parity_->ExpectEqualDedupe(); }
TEST_F(CudaParity, RowsAreClaimedFoundAndCopied) { parity_->ExpectRowsFoundAndCopied(); }

}  // namespace
}  // namespace hotrow::testing
