// Forward pooling of one bag: the body of every space.
//
// A bag's columns are walked in chunks whose width the compiler knows, so that a chunk's running
// values stay in registers while the bag's rows go by. A chunk is a run of columns on the host (as
// many as its vector registers take), and every kWidth-th column on a device's lane.
//
// Thread safety: bodies on different bags may run beside each other. Ownership: nothing.
// Shapes: a bag is the occurrences begin .. end-1; out and argmax of a bag (dim).

#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/base/float_row.h"
#include "kernels/base/host_device.h"
#include "kernels/base/position.h"
#include "kernels/pooling/pooling.h"
#include "kernels/space/lane_chunks.h"

namespace hotrow {

struct Bag {
  int64_t begin;
  int64_t end;
};

// The batch as the bodies see it.
struct PoolView {
  const int64_t* offsets;       // (bags + 1)
  const int32_t* positions;     // (n)
  const float* weights;         // (n) or null
  const ConstRowPointer* rows;  // (unique)
  int64_t dim;
  int64_t n;

  static PoolView Of(const BagsView& bags, const ConstRowsView& rows) {
    return {bags.offsets.data(),
            bags.positions.data(),
            bags.weights.empty() ? nullptr : bags.weights.data(),
            rows.rows.data(),
            rows.dim,
            static_cast<int64_t>(bags.positions.size())};
  }

  HOTROW_HOST_DEVICE Bag BagAt(int64_t b) const { return {offsets[b], offsets[b + 1]}; }

  // The row of occurrence i from `column` on, or null where it is skipped.
  HOTROW_HOST_DEVICE ConstRowPointer RowAt(int64_t i, int64_t column) const {
    return positions[i] == kSkippedPosition ? nullptr : rows[positions[i]] + column;
  }
};

// Called with each occurrence that a body comes to: a place for hints. Does nothing.
struct NoHint {
  HOTROW_HOST_DEVICE void operator()(int64_t /*occurrence*/) const {}
};

// Sums of the bag's rows in the columns of a chunk, each row times its weight; returns the number
// of rows.
template <bool kWeighted, typename ChunkType, typename Hint>
HOTROW_HOST_DEVICE int64_t SumChunk(const PoolView& pool, Bag bag, const ChunkType& chunk,
                                    const Hint& hint, float* out) {
  float sum[ChunkType::kWidth] = {};
  int64_t counted = 0;
  for (int64_t i = bag.begin; i < bag.end; ++i) {
    hint(i);
    const ConstRowPointer row = pool.RowAt(i, chunk.column);
    if (row == nullptr) continue;
    ++counted;
    for (int c = 0; c < ChunkType::kWidth; ++c) {
      const float value = row[c * ChunkType::kStride].value;
      sum[c] += kWeighted ? pool.weights[i] * value : value;
    }
  }
  for (int c = 0; c < ChunkType::kWidth; ++c) out[chunk.column + c * ChunkType::kStride] = sum[c];
  return counted;
}

// Greatest value and its occurrence. `Float` and `Int` are one column, or several side by side
// whose comparison gives all ones where it holds.
template <typename Float, typename Int>
struct Best {
  Float value = {};
  Int winner = Int{} - 1;
  bool is_first = true;

  HOTROW_HOST_DEVICE void Offer(const Float& offered, int32_t occurrence) {
    const Int name = Int{} + occurrence;
    // Greater, or the first NaN.
    const Int beats = (offered > value) | ((offered != offered) & (value == value));
    value = is_first ? offered : (beats ? offered : value);
    winner = is_first ? name : (beats ? name : winner);
    is_first = false;
  }
};

// What a maximum writes; both (dim).
struct MaxOutput {
  float* out;
  int32_t* argmax;
};

// The maximum in the columns of a chunk of single columns.
template <typename ChunkType, typename Hint>
HOTROW_HOST_DEVICE void MaxChunk(const PoolView& pool, Bag bag, const ChunkType& chunk,
                                 const Hint& hint, const MaxOutput& to) {
  Best<float, int32_t> best[ChunkType::kWidth];
  for (int64_t i = bag.begin; i < bag.end; ++i) {
    hint(i);
    const ConstRowPointer row = pool.RowAt(i, chunk.column);
    if (row == nullptr) continue;
    for (int c = 0; c < ChunkType::kWidth; ++c) {
      best[c].Offer(row[c * ChunkType::kStride].value, static_cast<int32_t>(i));
    }
  }
  for (int c = 0; c < ChunkType::kWidth; ++c) {
    to.out[chunk.column + c * ChunkType::kStride] = best[c].value;
    to.argmax[chunk.column + c * ChunkType::kStride] = best[c].winner;
  }
}

// Pools bag b of a batch by the lanes of a tile.
struct PoolStage {
  static constexpr const char* kName = "pool";
  PoolingMode mode;
  PoolView pool;
  float* out;       // (bags, dim)
  int32_t* argmax;  // (bags, dim); kMax only

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t b) const {
    const Bag bag = pool.BagAt(b);
    float* const to = out + b * pool.dim;
    ForEachLaneChunk(tile, pool.dim, [&](const auto& chunk) {
      if (mode == PoolingMode::kMax) {
        MaxChunk(pool, bag, chunk, NoHint(), {to, argmax + b * pool.dim});
      } else if (pool.weights != nullptr) {
        SumChunk<true>(pool, bag, chunk, NoHint(), to);
      } else {
        const int64_t counted = SumChunk<false>(pool, bag, chunk, NoHint(), to);
        if (mode == PoolingMode::kMean) Divide(chunk, counted, to);
      }
    });
  }

 private:
  template <typename ChunkType>
  HOTROW_HOST_DEVICE static void Divide(const ChunkType& chunk, int64_t counted, float* to) {
    const float divisor = counted > 1 ? static_cast<float>(counted) : 1.0F;
    for (int c = 0; c < ChunkType::kWidth; ++c) {
      to[chunk.column + c * ChunkType::kStride] /= divisor;
    }
  }
};

}  // namespace hotrow
