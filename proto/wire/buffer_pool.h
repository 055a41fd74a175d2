// A bounded pool of large buffers. malloc maps, faults in and unmaps megabyte buffers that several
// threads hold at once: filling eight of 1 MiB takes 8.7 ms with malloc and 0.5 ms from the pool
// (bench/codec_bench.cc).
//
// Thread safety: all methods. Ownership: a buffer belongs to whoever took it, until GiveBack.
// Units: sizes in bytes. Bounds: buffers of kSmallestBytes .. kLargestBytes are kept, kMaxKeptBytes
// of them at most; others come from malloc and return there at once.

#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "kernels/base/mutex.h"

namespace hotrow::wire {

class BufferPool {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kSmallestBytes = size_t{64} << 10;
  static constexpr size_t kLargestBytes = size_t{8} << 20;
  static constexpr size_t kMaxKeptBytes = size_t{64} << 20;

  // The pool of the process. It outlives all threads: gRPC drops slices until the very end.
  static BufferPool& Process();

  BufferPool() = default;
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // At least `size` bytes, aligned, not zeroed. Ends the process when memory is exhausted, as
  // operator new would.
  std::byte* Take(size_t size);
  // `size` as given to Take.
  void GiveBack(std::byte* buffer, size_t size);

  size_t kept_bytes() const;

 private:
  static constexpr size_t kClasses = 8;  // 64 KiB, 128 KiB .. 8 MiB

  mutable Mutex mutex_;
  std::array<std::vector<std::byte*>, kClasses> kept_ HOTROW_GUARDED_BY(mutex_);
  size_t kept_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotrow::wire
