#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/base/check.h"
#include "kernels/pooling/column_chunks.h"
#include "kernels/pooling/pool_bag.h"
#include "kernels/pooling/pooling.h"
#include "kernels/pooling/rows_ahead.h"

namespace hotrow {
namespace {

// Eight columns at once.
using Floats8 [[gnu::vector_size(32)]] = float;
using Ints8 [[gnu::vector_size(32)]] = int32_t;
constexpr int kLanes = 8;

// Calls body(chunk, hint) for the chunks of a row; the walk over a bag's first columns requests
// whole rows ahead.
template <typename Body>
void ForEachHostChunk(const RowsAhead& ahead, const Body& body) {
  ForEachColumnChunk(ahead.pool.dim, [&](auto width, int64_t column) {
    const Chunk<width, 1> chunk{column};
    column == 0 ? body(chunk, ahead) : body(chunk, NoHint());
  });
}

void PoolSum(const RowsAhead& ahead, Bag bag, PoolingMode mode, float* out) {
  int64_t counted = 0;
  ForEachHostChunk(ahead, [&](const auto& chunk, const auto& hint) {
    counted = ahead.pool.weights == nullptr ? SumChunk<false>(ahead.pool, bag, chunk, hint, out)
                                            : SumChunk<true>(ahead.pool, bag, chunk, hint, out);
  });
  if (mode != PoolingMode::kMean || counted <= 1) return;
  const auto divisor = static_cast<float>(counted);
  for (int64_t c = 0; c < ahead.pool.dim; ++c) out[c] /= divisor;
}

// MaxChunk with the columns of a chunk in groups, each group compared at once.
template <int kWidth, typename Hint>
void MaxGroups(const PoolView& pool, Bag bag, int64_t column, const Hint& hint,
               const MaxOutput& to) {
  constexpr int kGroups = kWidth / kLanes;
  Best<Floats8, Ints8> best[kGroups];
  for (int64_t i = bag.begin; i < bag.end; ++i) {
    hint(i);
    const ConstRowPointer row = pool.RowAt(i, column);
    if (row == nullptr) continue;
    for (int g = 0; g < kGroups; ++g) {
      Floats8 value;
      std::memcpy(&value, row + g * kLanes, sizeof(value));
      best[g].Offer(value, static_cast<int32_t>(i));
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    std::memcpy(to.out + column + g * kLanes, &best[g].value, sizeof(Floats8));
    std::memcpy(to.argmax + column + g * kLanes, &best[g].winner, sizeof(Ints8));
  }
}

void PoolMax(const RowsAhead& ahead, Bag bag, const MaxOutput& to) {
  ForEachHostChunk(ahead, [&](const auto& chunk, const auto& hint) {
    constexpr int kWidth = std::decay_t<decltype(chunk)>::kWidth;
    if constexpr (kWidth % kLanes == 0) {
      MaxGroups<kWidth>(ahead.pool, bag, chunk.column, hint, to);
    } else {
      MaxChunk(ahead.pool, bag, chunk, hint, to);
    }
  });
}

void PoolRange(const PoolStage& stage, int64_t begin, int64_t end) {
  const RowsAhead ahead(stage.pool);
  const int64_t dim = stage.pool.dim;
  ahead.Start(stage.pool.offsets[begin]);
  for (int64_t b = begin; b < end; ++b) {
    const Bag bag = stage.pool.BagAt(b);
    if (stage.mode == PoolingMode::kMax) {
      PoolMax(ahead, bag, {stage.out + b * dim, stage.argmax + b * dim});
    } else {
      PoolSum(ahead, bag, stage.mode, stage.out + b * dim);
    }
  }
}

}  // namespace

void PoolForward(const HostSpace& space, const BagsView& bags, const ConstRowsView& rows,
                 float* out, std::span<int32_t> argmax) {
  const auto bag_count = static_cast<int64_t>(bags.offsets.size()) - 1;
  HOTROW_CHECK(bag_count >= 0);
  HOTROW_CHECK(bags.mode != PoolingMode::kMax ||
               argmax.size() == static_cast<size_t>(bag_count * rows.dim));
  HOTROW_CHECK(bags.weights.empty() ||
               (bags.mode == PoolingMode::kSum && bags.weights.size() == bags.positions.size()));
  const PoolStage stage{bags.mode, PoolView::Of(bags, rows), out, argmax.data()};
  space.ForRanges(bag_count, [&](const auto& tile, int64_t begin, int64_t end) {
    if constexpr (std::decay_t<decltype(tile)>::kWidth == 1) {
      PoolRange(stage, begin, end);
    } else {
      for (int64_t b = begin; b < end; ++b) stage(tile, b);
    }
  });
}

void PoolForward(const BagsView& bags, const ConstRowsView& rows, float* out,
                 std::span<int32_t> argmax) {
  PoolForward(HostSpace(), bags, rows, out, argmax);
}

}  // namespace hotrow
