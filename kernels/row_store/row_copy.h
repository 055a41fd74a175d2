// Copies of records and weights, by the lanes of a tile.
//
// Thread safety: bodies on different rows may run beside each other. Units: record sizes are
// multiples of 16 bytes; a destination of weights may lie at any byte address.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/base/float_row.h"
#include "kernels/base/host_device.h"

namespace hotrow {

// Sixteen bytes that a lane moves at once.
struct alignas(16) RecordWord {
  uint64_t low = 0;
  uint64_t high = 0;
};

template <typename Tile>
HOTROW_HOST_DEVICE void CopyRecord(const Tile& tile, const std::byte* from, std::byte* to,
                                   int64_t row_bytes) {
  const auto* const source = reinterpret_cast<const RecordWord*>(from);
  auto* const target = reinterpret_cast<RecordWord*>(to);
  tile.ForEach(row_bytes / static_cast<int64_t>(sizeof(RecordWord)),
               [&](int64_t i) { target[i] = source[i]; });
}

template <typename Tile>
HOTROW_HOST_DEVICE void ZeroRecord(const Tile& tile, std::byte* record, int64_t row_bytes) {
  auto* const target = reinterpret_cast<RecordWord*>(record);
  tile.ForEach(row_bytes / static_cast<int64_t>(sizeof(RecordWord)),
               [&](int64_t i) { target[i] = RecordWord{}; });
}

// Asks for the lines of `bytes` bytes from `from` on.
template <typename Tile>
HOTROW_HOST_DEVICE void PrefetchWeights(const Tile& tile, const std::byte* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  const std::byte* const last = from + bytes - 1;
  for (const std::byte* line = from; line < last; line += kLine) tile.Prefetch(line);
  tile.Prefetch(last);
}

template <typename Tile>
HOTROW_HOST_DEVICE void CopyWeightsOut(const Tile& tile, const std::byte* record, int64_t dim,
                                       RowPointer to) {
#if defined(__CUDA_ARCH__)
  const auto* const weights = reinterpret_cast<const float*>(record);
  if (dim % 4 == 0 && reinterpret_cast<uintptr_t>(to) % sizeof(RecordWord) == 0) {
    CopyRecord(tile, record, reinterpret_cast<std::byte*>(to), dim * 4);
  } else {
    tile.ForEach(dim, [&](int64_t i) { to[i] = weights[i]; });
  }
#else
  std::memcpy(to, record, static_cast<size_t>(dim) * sizeof(float));
#endif
}

}  // namespace hotrow
