#include <algorithm>
#include <cstring>

#include "kernels/base/check.h"
#include "kernels/pooling/column_chunks.h"
#include "kernels/pooling/pooling.h"
#include "kernels/space/prefetch.h"

namespace hotrow {
namespace {

// Occurrences whose rows are requested ahead of the one in work, and the bytes of a row that are:
// the hardware follows a longer row by itself (bench/kernel_bench.cc).
constexpr int64_t kAhead = 16;
constexpr int64_t kAheadBytes = 512;

// Eight columns at once. Comparison gives all ones where it holds.
using Floats8 [[gnu::vector_size(32)]] = float;
using Ints8 [[gnu::vector_size(32)]] = int32_t;

// One bag: occurrences begin .. end-1.
struct Bag {
  int64_t begin;
  int64_t end;
};

class Pool {
 public:
  Pool(const BagsView& bags, const ConstRowsView& rows)
      : positions_(bags.positions.data()),
        weights_(bags.weights.empty() ? nullptr : bags.weights.data()),
        rows_(rows.rows.data()),
        dim_(rows.dim),
        n_(static_cast<int64_t>(bags.positions.size())),
        ahead_bytes_(std::min(dim_ * int64_t{4}, kAheadBytes)) {}

  HOTROW_PREFETCH_INLINE void Prefetch(int64_t i) const {
    if (i < n_ && positions_[i] != kSkippedPosition) {
      PrefetchToRead(rows_[positions_[i]], ahead_bytes_);
    }
  }

  // Sum of the bag's rows, each times its weight; returns the number of rows.
  int64_t Sum(Bag bag, float* out) const {
    int64_t counted = 0;
    ForEachColumnChunk(dim_, [&](auto width, int64_t column) {
      counted = weights_ == nullptr ? SumChunk<width, false>(bag, column, out + column)
                                    : SumChunk<width, true>(bag, column, out + column);
    });
    return counted;
  }

  void Max(Bag bag, float* out, int32_t* argmax) const {
    ForEachColumnChunk(dim_, [&](auto width, int64_t column) {
      if constexpr (width == 1) {
        MaxChunk<float, int32_t, 1>(bag, column, out + column, argmax + column);
      } else {
        MaxChunk<Floats8, Ints8, width / 8>(bag, column, out + column, argmax + column);
      }
    });
  }

 private:
  // The row of occurrence i from `column` on, or null where it is skipped. The walk over a bag's
  // first columns requests whole rows ahead.
  ConstRowPointer RowAt(int64_t i, int64_t column) const {
    if (column == 0) Prefetch(i + kAhead);
    return positions_[i] == kSkippedPosition ? nullptr : rows_[positions_[i]] + column;
  }

  template <int kWidth, bool kWeighted>
  int64_t SumChunk(Bag bag, int64_t column, float* out) const {
    float sum[kWidth] = {};
    int64_t counted = 0;
    for (int64_t i = bag.begin; i < bag.end; ++i) {
      const ConstRowPointer row = RowAt(i, column);
      if (row == nullptr) continue;
      ++counted;
      for (int c = 0; c < kWidth; ++c) {
        sum[c] += kWeighted ? weights_[i] * row[c].value : row[c].value;
      }
    }
    std::copy_n(sum, kWidth, out);
    return counted;
  }

  // The columns of a chunk in groups of `Float`s, each group compared at once.
  template <typename Float, typename Int, int kGroups>
  void MaxChunk(Bag bag, int64_t column, float* out, int32_t* argmax) const {
    constexpr int kLanes = sizeof(Float) / sizeof(float);
    Float best[kGroups] = {};
    Int winner[kGroups];
    for (Int& group : winner) group = Int{} - 1;
    bool is_first = true;
    for (int64_t i = bag.begin; i < bag.end; ++i) {
      const ConstRowPointer row = RowAt(i, column);
      if (row == nullptr) continue;
      const Int occurrence = Int{} + static_cast<int32_t>(i);
      for (int g = 0; g < kGroups; ++g) {
        Float value;
        std::memcpy(&value, row + g * kLanes, sizeof(value));
        // Greater, or the first NaN.
        const Int beats = (value > best[g]) | ((value != value) & (best[g] == best[g]));
        best[g] = is_first ? value : (beats ? value : best[g]);
        winner[g] = is_first ? occurrence : (beats ? occurrence : winner[g]);
      }
      is_first = false;
    }
    std::memcpy(out, best, sizeof(best));
    std::memcpy(argmax, winner, sizeof(winner));
  }

  const int32_t* positions_;
  const float* weights_;
  const ConstRowPointer* rows_;
  int64_t dim_;
  int64_t n_;
  int64_t ahead_bytes_;
};

}  // namespace

void PoolForward(const BagsView& bags, const ConstRowsView& rows, float* out,
                 std::span<int32_t> argmax) {
  const auto bag_count = static_cast<int64_t>(bags.offsets.size()) - 1;
  const int64_t dim = rows.dim;
  HOTROW_CHECK(bag_count >= 0);
  HOTROW_CHECK(bags.mode != PoolingMode::kMax ||
               argmax.size() == static_cast<size_t>(bag_count * dim));
  HOTROW_CHECK(bags.weights.empty() ||
               (bags.mode == PoolingMode::kSum && bags.weights.size() == bags.positions.size()));
  const Pool pool(bags, rows);
  for (int64_t i = 0; i < kAhead; ++i) pool.Prefetch(i);
  for (int64_t b = 0; b < bag_count; ++b) {
    const Bag bag{bags.offsets[static_cast<size_t>(b)], bags.offsets[static_cast<size_t>(b) + 1]};
    float* bag_out = out + b * dim;
    if (bags.mode == PoolingMode::kMax) {
      pool.Max(bag, bag_out, argmax.data() + b * dim);
      continue;
    }
    const int64_t counted = pool.Sum(bag, bag_out);
    if (bags.mode == PoolingMode::kMean && counted > 1) {
      const auto divisor = static_cast<float>(counted);
      for (int64_t c = 0; c < dim; ++c) bag_out[c] /= divisor;
    }
  }
}

}  // namespace hotrow
