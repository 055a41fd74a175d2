// CudaTile: W neighbouring lanes of a warp as a tile (see tile.h), by warp intrinsics.
//
// Thread safety: all W lanes call every collective together, other tiles of the warp need not.
// Ownership: none; a tile is a value in registers. Bounds: W is 1, 2, 4, 8, 16 or 32.

#pragma once

#include <cstdint>

#include "kernels/base/bits.h"
#include "kernels/space/tile.h"

namespace hotrow {

template <int W>
class CudaTile {
 public:
  static_assert(W == 1 || W == 2 || W == 4 || W == 8 || W == 16 || W == 32);
  static constexpr int kWidth = W;

  __device__ CudaTile()
      : lane_(static_cast<int>(threadIdx.x) % W),
        shift_(static_cast<int>(threadIdx.x) % 32 / W * W),
        mask_(static_cast<uint32_t>(LowBits(W)) << shift_) {}

  // Number of this tile among those of the grid, and how many there are.
  __device__ static int64_t Number() {
    return (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / W;
  }
  __device__ static int64_t Count() { return int64_t{gridDim.x} * blockDim.x / W; }

  template <typename Pred>
  __device__ uint32_t Ballot(Pred pred) const {
    return (__ballot_sync(mask_, pred(lane_)) & mask_) >> shift_;
  }

  template <typename F>
  __device__ void ForEach(int64_t n, F f) const {
    for (int64_t i = lane_; i < n; i += W) f(i);
  }

  template <typename F>
  __device__ auto Leader(int lane, F f) const {
    decltype(f()) result{};
    if (lane_ == lane) result = f();
    return __shfl_sync(mask_, result, lane, W);
  }

  __device__ void Sync() const { __syncwarp(mask_); }

  __device__ uint64_t MatchBytes(const uint8_t* bytes, int n, uint8_t value) const {
    uint32_t low = 0;
    uint32_t high = 0;
    for (int i = lane_; i < n / 4; i += W) {
      const uint32_t match = MatchWord(*reinterpret_cast<const uint32_t*>(bytes + 4 * i), value);
      (i < 8 ? low : high) |= match << (i % 8 * 4);
    }
    low = __reduce_or_sync(mask_, low);
    if (n > 32) high = __reduce_or_sync(mask_, high);
    return uint64_t{high} << 32 | low;
  }

  template <typename F>
  __device__ uint64_t Min(int64_t n, F f) const {
    uint64_t smallest = UINT64_MAX;
    for (int64_t i = lane_; i < n; i += W) smallest = Smaller(smallest, f(i));
    for (int apart = W / 2; apart > 0; apart /= 2) {
      smallest = Smaller(smallest, __shfl_xor_sync(mask_, smallest, apart, W));
    }
    return smallest;
  }

  // Lane l holds the partial sums l, l + W, l + 2 W ...: the tree's wide levels stay in the lane.
  template <typename F>
  __device__ auto Sum(int64_t n, F f) const {
    constexpr int kOwn = kSumLanes / W;
    decltype(f(int64_t{})) partial[kOwn] = {};
    for (int64_t begin = 0; begin < n; begin += kSumLanes) {
#pragma unroll
      for (int k = 0; k < kOwn; ++k) {
        const int64_t i = begin + lane_ + k * W;
        if (i < n) partial[k] += f(i);
      }
    }
#pragma unroll
    for (int apart = kOwn / 2; apart > 0; apart /= 2) {
#pragma unroll
      for (int k = 0; k < apart; ++k) partial[k] += partial[k + apart];
    }
    // Only lane 0's sum is whole: the others add what lies beyond the end.
#pragma unroll
    for (int apart = W / 2; apart > 0; apart /= 2) {
      partial[0] += __shfl_down_sync(mask_, partial[0], apart, W);
    }
    return __shfl_sync(mask_, partial[0], 0, W);
  }

  // Other warps hide the latency here.
  __device__ void Prefetch(const void* /*address*/) const {}

 private:
  __device__ static uint64_t Smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

  // A bit for each byte that equals `value`.
  __device__ static uint32_t MatchWord(uint32_t word, uint8_t value) {
    const uint32_t equal = __vcmpeq4(word, value * 0x01010101U) & 0x01010101U;
    return (equal * 0x10204080U) >> 28;
  }

  const int lane_;
  const int shift_;      // of the tile's first lane in its warp
  const uint32_t mask_;  // the tile's lanes
};

}  // namespace hotrow
