// Bit masks of up to 64 lanes or slots, on host and device alike.
//
// Thread safety: pure functions.

#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/base/host_device.h"

namespace hotrow {

HOTROW_HOST_DEVICE inline int CountBits(uint64_t mask) {
#if defined(__CUDA_ARCH__)
  return __popcll(mask);
#else
  return __builtin_popcountll(mask);
#endif
}

// Index of the lowest set bit. `mask` is not 0.
HOTROW_HOST_DEVICE inline int LowestBit(uint64_t mask) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(mask)) - 1;
#else
  return __builtin_ctzll(mask);
#endif
}

// Index of the highest set bit. `mask` is not 0.
HOTROW_HOST_DEVICE inline int HighestBit(uint64_t mask) {
#if defined(__CUDA_ARCH__)
  return 63 - __clzll(static_cast<long long>(mask));
#else
  return 63 - __builtin_clzll(mask);
#endif
}

// The lowest `n` bits, 0 <= n <= 64.
HOTROW_HOST_DEVICE constexpr uint64_t LowBits(int n) {
  return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
}

// Whether one of `n` bytes is 0, by one lane alone. n is a multiple of 4.
HOTROW_HOST_DEVICE inline bool HasZeroByte(const uint8_t* bytes, int n) {
  for (int i = 0; i < n; i += 4) {
    uint32_t word;
    std::memcpy(&word, bytes + i, sizeof(word));
    if (((word - 0x01010101U) & ~word & 0x80808080U) != 0) return true;
  }
  return false;
}

}  // namespace hotrow
