#include "proto/wire/buffer_pool.h"

#include <bit>
#include <cstdlib>

#include "kernels/base/check.h"

namespace hotrow::wire {
namespace {

// Under AddressSanitizer nothing is kept: it would not see the use of a buffer that was given back.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeep = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kKeep = false;
#else
constexpr bool kKeep = true;
#endif
#else
constexpr bool kKeep = true;
#endif

bool IsPooled(size_t size) {
  return size > BufferPool::kSmallestBytes / 2 && size <= BufferPool::kLargestBytes;
}

// Pooled sizes are rounded up to powers of two, which are the classes.
size_t ClassBytes(size_t size) {
  return std::bit_ceil(size < BufferPool::kSmallestBytes ? BufferPool::kSmallestBytes : size);
}

size_t ClassOf(size_t size) {
  return static_cast<size_t>(std::countr_zero(ClassBytes(size)) -
                             std::countr_zero(BufferPool::kSmallestBytes));
}

std::byte* Allocate(size_t size) {
  const size_t rounded =
      (size + BufferPool::kAlignment - 1) / BufferPool::kAlignment * BufferPool::kAlignment;
  void* buffer = std::aligned_alloc(BufferPool::kAlignment, rounded);
  HOTROW_CHECK(buffer != nullptr);
  return static_cast<std::byte*>(buffer);
}

}  // namespace

BufferPool& BufferPool::Process() {
  static auto* pool = new BufferPool;  // never destroyed: slices may be dropped after main
  return *pool;
}

BufferPool::~BufferPool() {
  for (const std::vector<std::byte*>& buffers : kept_) {
    for (std::byte* buffer : buffers) std::free(buffer);
  }
}

std::byte* BufferPool::Take(size_t size) {
  if (!IsPooled(size)) return Allocate(size == 0 ? 1 : size);
  {
    MutexLock lock(mutex_);
    std::vector<std::byte*>& buffers = kept_[ClassOf(size)];
    if (!buffers.empty()) {
      std::byte* buffer = buffers.back();
      buffers.pop_back();
      kept_bytes_ -= ClassBytes(size);
      return buffer;
    }
  }
  return Allocate(ClassBytes(size));
}

void BufferPool::GiveBack(std::byte* buffer, size_t size) {
  if (kKeep && IsPooled(size)) {
    MutexLock lock(mutex_);
    if (kept_bytes_ + ClassBytes(size) <= kMaxKeptBytes) {
      kept_[ClassOf(size)].push_back(buffer);
      kept_bytes_ += ClassBytes(size);
      return;
    }
  }
  std::free(buffer);
}

size_t BufferPool::kept_bytes() const {
  MutexLock lock(mutex_);
  return kept_bytes_;
}

}  // namespace hotrow::wire
