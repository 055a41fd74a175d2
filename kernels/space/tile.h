// Tile: W lanes acting together on one key or one row. Algorithms are written once against a tile
// and run in every space: a warp's lanes on a device, a loop (or SIMD) on the host.
//
// Every tile offers the same collectives, each taking a lambda that is called once per lane or per
// index, in no promised order:
//
//   Ballot(pred(lane))        mask of the lanes whose predicate holds
//   ForEach(n, f(i))          f for 0 <= i < n, spread over the lanes; calls must not depend on
//                             each other
//   Leader(lane, f)           f on that one lane, its result known to all
//   Sync()                    what any lane wrote before is seen by all lanes after
//   MatchBytes(p, n, value)   mask of the positions among n bytes that equal `value`
//   Min(n, f(i))              smallest f(i) as uint64_t; UINT64_MAX when n is 0
//   Sum(n, f(i))              sum of f(i) in the one shape of all spaces and widths (below)
//   Prefetch(p)               hint that the line at p will be read soon
//
// Sum: f(i) is added to partial sum i mod kSumLanes in order of i, beginning at +0; then
// partial[j] += partial[j + h] for h = 16, 8, 4, 2, 1. This fixes the bits of every reduction over
// a row.
//
// Between collectives every lane runs the same code on the same values; what only one may do (a
// write to shared memory) belongs into Leader or ForEach.
//
// On the host a tile of one lane is the fast one. A wider one calls each lane's share lane by lane,
// the last lane first: as far from the order of one lane as a device may be, so that equal bits
// mean something.
//
// Thread safety: a tile is a value without state; all its lanes belong to one caller.
// Bounds: masks hold at most 64 positions.

#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/base/host_device.h"

#if defined(__AVX2__) && !defined(__CUDA_ARCH__)
#include <immintrin.h>
#endif

namespace hotrow {

inline constexpr int kSumLanes = 32;

template <int W>
class HostTile {
 public:
  static_assert(W == 1 || W == 2 || W == 4 || W == 8 || W == 16 || W == 32);
  static constexpr int kWidth = W;

  template <typename Pred>
  HOTROW_HOST_DEVICE uint32_t Ballot(Pred pred) const {
    uint32_t mask = 0;
    for (int lane = 0; lane < W; ++lane) mask |= static_cast<uint32_t>(pred(lane)) << lane;
    return mask;
  }

  template <typename F>
  HOTROW_HOST_DEVICE void ForEach(int64_t n, F f) const {
    if constexpr (W == 1) {
      for (int64_t i = 0; i < n; ++i) f(i);
    } else {
      for (int lane = W - 1; lane >= 0; --lane) {
        for (int64_t i = lane; i < n; i += W) f(i);
      }
    }
  }

  template <typename F>
  HOTROW_HOST_DEVICE auto Leader(int /*lane*/, F f) const {
    return f();
  }

  HOTROW_HOST_DEVICE void Sync() const {}

  // n is a multiple of 4 and at most 64.
  HOTROW_HOST_DEVICE uint64_t MatchBytes(const uint8_t* bytes, int n, uint8_t value) const {
#if defined(__AVX2__) && !defined(__CUDA_ARCH__)
    if (W == 1 && n == 32) return Match32(bytes, value);
    if (W == 1 && n == 64) return Match32(bytes, value) | Match32(bytes + 32, value) << 32;
#endif
    uint64_t mask = 0;
    ForEach(n / 4, [&](int64_t i) { mask |= uint64_t{Match4(bytes + 4 * i, value)} << (4 * i); });
    return mask;
  }

  template <typename F>
  HOTROW_HOST_DEVICE uint64_t Min(int64_t n, F f) const {
    uint64_t smallest = UINT64_MAX;
    ForEach(n, [&](int64_t i) {
      const uint64_t value = f(i);
      smallest = value < smallest ? value : smallest;
    });
    return smallest;
  }

  template <typename F>
  HOTROW_HOST_DEVICE auto Sum(int64_t n, F f) const {
    using Value = decltype(f(int64_t{}));
    Value partial[kSumLanes];
    if constexpr (W == 1) {
      int64_t i = 0;
      if (n >= kSumLanes) {
        // The first addends set the partial sums: clearing them first costs half as much as a row
        // of 64 (bench/kernel_bench.cc).
        for (int j = 0; j < kSumLanes; ++j) partial[j] = Value{} + f(j);
        for (i = kSumLanes; i + kSumLanes <= n; i += kSumLanes) {
          for (int j = 0; j < kSumLanes; ++j) partial[j] += f(i + j);
        }
      } else {
        for (int j = 0; j < kSumLanes; ++j) partial[j] = Value{};
      }
      for (int j = 0; i + j < n; ++j) partial[j] += f(i + j);
    } else {
      ForEach(kSumLanes, [&](int64_t j) {
        partial[j] = Value{};
        for (int64_t i = j; i < n; i += kSumLanes) partial[j] += f(i);
      });
    }
    AddHalves<kSumLanes / 2>(partial);
    return partial[0];
  }

  HOTROW_HOST_DEVICE void Prefetch(const void* address) const {
#if !defined(__CUDA_ARCH__)
    __builtin_prefetch(address);
    // Without this GCC takes a stage that only prefetches for one without effects, and drops it.
    __asm__ volatile("");
#endif
  }

 private:
  template <int kHalf, typename Value>
  HOTROW_HOST_DEVICE static void AddHalves(Value* partial) {
    for (int j = 0; j < kHalf; ++j) partial[j] += partial[j + kHalf];
    if constexpr (kHalf > 1) AddHalves<kHalf / 2>(partial);
  }

#if defined(__AVX2__) && !defined(__CUDA_ARCH__)
  static uint64_t Match32(const uint8_t* bytes, uint8_t value) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    const __m256i equal = _mm256_cmpeq_epi8(all, _mm256_set1_epi8(static_cast<char>(value)));
    return static_cast<uint32_t>(_mm256_movemask_epi8(equal));
  }
#endif

  // Four bytes at once: a byte of x is 0 exactly where the bytes are equal. The sum carries into
  // bit 7 of every byte with a low bit set, never across bytes; the multiplication gathers the four
  // flags.
  HOTROW_HOST_DEVICE static uint32_t Match4(const uint8_t* bytes, uint8_t value) {
    uint32_t word;
    std::memcpy(&word, bytes, sizeof(word));
    const uint32_t x = word ^ (value * 0x01010101U);
    const uint32_t unequal = ((x & 0x7f7f7f7fU) + 0x7f7f7f7fU) | x;
    const uint32_t flags = (~unequal & 0x80808080U) >> 7;
    return (flags * 0x10204080U) >> 28;
  }
};

}  // namespace hotrow
