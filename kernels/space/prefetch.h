// Hints that memory will be used soon. A hint changes no result, whatever the address.
//
// Thread safety: pure functions. Host only.
//
// Always inlined: GCC takes a function that does nothing but prefetch for one without effects, and
// drops calls of it that it has not inlined by then.

#pragma once

#include <cstdint>

#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#define HOTROW_PREFETCH_INLINE [[gnu::always_inline]] inline
#else
#define HOTROW_PREFETCH_INLINE inline
#endif

namespace hotrow {

inline constexpr int64_t kCacheLineBytes = 64;

HOTROW_PREFETCH_INLINE void PrefetchToRead(const void* address, int64_t bytes) {
  const char* at = static_cast<const char*>(address);
  for (int64_t i = 0; i < bytes; i += kCacheLineBytes) __builtin_prefetch(at + i, 0);
  if (bytes > 0) __builtin_prefetch(at + bytes - 1, 0);  // where the bytes begin inside a line
}

HOTROW_PREFETCH_INLINE void PrefetchToWrite(void* address, int64_t bytes) {
  const char* at = static_cast<const char*>(address);
  for (int64_t i = 0; i < bytes; i += kCacheLineBytes) __builtin_prefetch(at + i, 1);
}

}  // namespace hotrow
