// DeviceStream and DeviceRuntime: the little that launch code asks of a device's runtime library.
// One implementation calls CUDA (cuda_runtime.h); tests put one in its place that records the calls
// and runs the kernels in host memory, so that launch code runs where there is no device.
//
// Thread safety: a stream serves one thread at a time; a runtime serves any. Ownership: a stream
// belongs to whoever opened it and ends before its runtime. Everything on a stream happens in the
// order of the calls; a call returns before its work is done, unless its name ends in Sync.
// Errors: what the library says, as kInternal, or kResourceExhausted where it is out of memory.

#pragma once

#include <cstdint>
#include <memory>

#include "kernels/base/result.h"

namespace hotrow {

// A kernel and where it runs. `arguments` are addresses of its parameters, read during the call.
struct DeviceLaunch {
  const void* kernel = nullptr;
  const char* name = "";  // of the stage, for records and messages
  int64_t blocks = 0;     // > 0
  int threads = 0;        // per block
  void** arguments = nullptr;
};

// Six calls are enough because everything else (streams, memory, devices) is made beforehand, by
// whoever owns it.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  virtual Result Launch(const DeviceLaunch& launch) = 0;
  // Between host and device, or within one; the host's memory must stay until the copy is done.
  virtual Result Copy(void* to, const void* from, int64_t bytes) = 0;
  virtual Result Zero(void* to, int64_t bytes) = 0;
  // What comes next here runs after everything that `earlier` has been given so far.
  virtual Result WaitFor(DeviceStream& earlier) = 0;
  virtual Result FinishSync() = 0;
  // The library's own handle, for libraries that take one.
  virtual void* handle() const = 0;
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  virtual ResultOr<std::unique_ptr<DeviceStream>> OpenStream() = 0;
  // Not on the data path: both may wait for the device. Aligned to 256 bytes; bytes > 0.
  virtual ResultOr<void*> AllocateSync(int64_t bytes) = 0;
  virtual void FreeSync(void* memory) = 0;
};

}  // namespace hotrow
