// DeviceBuffer: an array in a device's memory.
//
// Made and freed outside of the data path: both may wait for the device (the calls end in Sync).
// What a batch needs is made once, for the largest batch, and used again.
//
// Thread safety: a value with one owner. Ownership: move-only; the memory goes back when it ends,
// so the work on it must be done by then. The runtime outlives it. Shapes: `size` elements, not
// initialised.

#pragma once

#include <cstdint>
#include <utility>

#include "kernels/base/result.h"
#include "kernels/space/device_stream.h"

namespace hotrow {

template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) runtime_->FreeSync(data_);
  }

  // An empty buffer has no memory. kInvalidArgument for a negative size, kResourceExhausted when
  // the device is out of memory.
  static ResultOr<DeviceBuffer> CreateSync(DeviceRuntime& runtime, int64_t size) {
    if (size < 0 || size > INT64_MAX / static_cast<int64_t>(sizeof(T))) {
      return Result(Code::kInvalidArgument, "the size of a device buffer is out of range");
    }
    DeviceBuffer buffer;
    if (size == 0) return buffer;
    ResultOr<void*> memory = runtime.AllocateSync(size * static_cast<int64_t>(sizeof(T)));
    if (!memory.ok()) return memory.result();
    buffer.runtime_ = &runtime;
    buffer.data_ = static_cast<T*>(*memory);
    buffer.size_ = size;
    return buffer;
  }

  // Device memory: not to be read or written by the host. Null when empty.
  T* data() const { return data_; }
  // Elements, and the bytes that they take: what Copy and Zero of a stream want.
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * static_cast<int64_t>(sizeof(T)); }

 private:
  DeviceRuntime* runtime_ = nullptr;
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace hotrow
