// Atomic operations on plain memory, the same on host and device, for the few words that the keys
// of one stage share.
//
// On the host these are compiler builtins, which ThreadSanitizer knows; on a device the atomic
// references of libcu++ at the scope of the device, since no host touches the words meanwhile.
//
// Thread safety: that is what it is for. Ordering: relaxed; what one stage wrote is seen by the
// next because a space ends a stage before it begins the next, not because of these operations.
// Ownership: none; the words stay the caller's. Shapes: words of 4 or 8 bytes at their natural
// boundary.

#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace hotrow {

#if defined(__CUDA_ARCH__)

template <typename T>
using AtomicWord = cuda::atomic_ref<T, cuda::thread_scope_device>;

template <typename T>
__device__ inline T AtomicLoad(const T* word) {
  return AtomicWord<T>(*const_cast<T*>(word)).load(cuda::memory_order_relaxed);
}
template <typename T>
__device__ inline void AtomicStore(T* word, T value) {
  AtomicWord<T>(*word).store(value, cuda::memory_order_relaxed);
}
template <typename T>
__device__ inline T AtomicAdd(T* word, T value) {
  return AtomicWord<T>(*word).fetch_add(value, cuda::memory_order_relaxed);
}
template <typename T>
__device__ inline T AtomicOr(T* word, T value) {
  return AtomicWord<T>(*word).fetch_or(value, cuda::memory_order_relaxed);
}
template <typename T>
__device__ inline void AtomicMax(T* word, T value) {
  AtomicWord<T>(*word).fetch_max(value, cuda::memory_order_relaxed);
}

// A device has no atomics on bytes: the byte is cleared within its aligned word.
__device__ inline uint8_t AtomicTakeByte(uint8_t* byte) {
  const auto address = reinterpret_cast<uintptr_t>(byte);
  const int shift = static_cast<int>(address & 3) * 8;
  auto* const word = reinterpret_cast<uint32_t*>(address & ~uintptr_t{3});
  const uint32_t before =
      AtomicWord<uint32_t>(*word).fetch_and(~(uint32_t{0xff} << shift), cuda::memory_order_relaxed);
  return static_cast<uint8_t>(before >> shift);
}

#else

// The word as it is.
template <typename T>
HOTROW_HOST_DEVICE inline T AtomicLoad(const T* word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

template <typename T>
HOTROW_HOST_DEVICE inline void AtomicStore(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

// These two return the word as it was before.
template <typename T>
HOTROW_HOST_DEVICE inline T AtomicAdd(T* word, T value) {
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

template <typename T>
HOTROW_HOST_DEVICE inline T AtomicOr(T* word, T value) {
  return __atomic_fetch_or(word, value, __ATOMIC_RELAXED);
}

// Raises the word to `value` where it is lower. Of several threads the greatest stays, whoever
// comes last: reservations need no more than that to be the same every time.
template <typename T>
HOTROW_HOST_DEVICE inline void AtomicMax(T* word, T value) {
  T seen = AtomicLoad(word);
  while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
  }
}

// Sets the byte to 0 and returns what it was: of several takers one gets it.
HOTROW_HOST_DEVICE inline uint8_t AtomicTakeByte(uint8_t* byte) {
  return __atomic_exchange_n(byte, uint8_t{0}, __ATOMIC_RELAXED);
}

#endif

}  // namespace hotrow
