#include "kernels/space/cuda_runtime.h"

#include <cuda_runtime_api.h>

namespace hotrow {
namespace {

Result FromCuda(cudaError_t error) {
  if (error == cudaSuccess) return {};
  // The library's own sentence: its strings live as long as the program.
  return {error == cudaErrorMemoryAllocation ? Code::kResourceExhausted : Code::kInternal,
          cudaGetErrorString(error)};
}

// Calls of a runtime go to its device, whatever the thread used last; the thread's choice comes
// back.
class OnDevice {
 public:
  explicit OnDevice(int number) {
    result_ = FromCuda(cudaGetDevice(&before_));
    if (result_.ok()) result_ = FromCuda(cudaSetDevice(number));
  }
  ~OnDevice() {
    if (result_.ok()) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  const Result& result() const { return result_; }

 private:
  int before_ = 0;
  Result result_;
};

class CudaStream : public DeviceStream {
 public:
  CudaStream(int device, cudaStream_t stream, cudaEvent_t event)
      : device_(device), stream_(stream), event_(event) {}
  ~CudaStream() override {
    const OnDevice device(device_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(stream_);
  }

  Result Launch(const DeviceLaunch& launch) override {
    const OnDevice device(device_);
    if (!device.result().ok()) return device.result();
    return FromCuda(cudaLaunchKernel(launch.kernel, dim3(static_cast<uint32_t>(launch.blocks)),
                                     dim3(static_cast<uint32_t>(launch.threads)), launch.arguments,
                                     0, stream_));
  }
  Result Copy(void* to, const void* from, int64_t bytes) override {
    return FromCuda(
        cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream_));
  }
  Result Zero(void* to, int64_t bytes) override {
    return FromCuda(cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), stream_));
  }
  Result WaitFor(DeviceStream& earlier) override {
    auto& other = static_cast<CudaStream&>(earlier);
    const Result recorded = FromCuda(cudaEventRecord(other.event_, other.stream_));
    return recorded.ok() ? FromCuda(cudaStreamWaitEvent(stream_, other.event_, 0)) : recorded;
  }
  Result FinishSync() override { return FromCuda(cudaStreamSynchronize(stream_)); }
  void* handle() const override { return stream_; }

 private:
  const int device_;
  const cudaStream_t stream_;
  const cudaEvent_t event_;  // of the last WaitFor on this stream
};

class CudaRuntime : public DeviceRuntime {
 public:
  explicit CudaRuntime(int number) : number_(number) {}

  ResultOr<std::unique_ptr<DeviceStream>> OpenStream() override {
    const OnDevice device(number_);
    if (!device.result().ok()) return device.result();
    cudaStream_t stream = nullptr;
    const Result opened = FromCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (!opened.ok()) return opened;
    cudaEvent_t event = nullptr;
    const Result created = FromCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    if (!created.ok()) {
      cudaStreamDestroy(stream);
      return created;
    }
    return std::unique_ptr<DeviceStream>(new CudaStream(number_, stream, event));
  }
  ResultOr<void*> AllocateSync(int64_t bytes) override {
    const OnDevice device(number_);
    if (!device.result().ok()) return device.result();
    void* memory = nullptr;
    const Result allocated = FromCuda(cudaMalloc(&memory, static_cast<size_t>(bytes)));
    if (!allocated.ok()) return allocated;
    return memory;
  }
  void FreeSync(void* memory) override {
    const OnDevice device(number_);
    cudaFree(memory);
  }

 private:
  const int number_;
};

}  // namespace

int CountCudaDevices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

ResultOr<std::unique_ptr<DeviceRuntime>> OpenCudaRuntime(int number) {
  if (number < 0 || number >= CountCudaDevices()) {
    return Result(Code::kUnavailable, "there is no such CUDA device, or no driver for it");
  }
  const OnDevice device(number);
  if (!device.result().ok()) return Result(Code::kUnavailable, device.result().message());
  return std::unique_ptr<DeviceRuntime>(new CudaRuntime(number));
}

}  // namespace hotrow
