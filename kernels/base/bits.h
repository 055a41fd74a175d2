// Bit masks of up to 64 lanes or slots, on host and device alike.
//
// Thread safety: pure functions.

#pragma once

#include <cstdint>

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

// The lowest `n` bits, 0 <= n <= 64.
HOTROW_HOST_DEVICE constexpr uint64_t LowBits(int n) {
  return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
}

}  // namespace hotrow
