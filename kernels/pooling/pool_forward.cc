#include <algorithm>

#include "kernels/base/check.h"
#include "kernels/pooling/column_chunks.h"
#include "kernels/pooling/pooling.h"

namespace hotrow {
namespace {

// Occurrences whose rows are requested ahead of the one in work, and the bytes of a row that are:
// the hardware follows a longer row by itself (bench/kernel_bench.cc).
constexpr int64_t kAhead = 16;
constexpr int64_t kAheadBytes = 512;
constexpr int64_t kCacheLine = 64;

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
        n_(static_cast<int64_t>(bags.positions.size())) {}

  void PrefetchBag(Bag ahead) const {
    const int64_t bytes = std::min<int64_t>(dim_ * 4, kAheadBytes);
    for (int64_t i = ahead.begin; i < std::min(ahead.end, n_); ++i) {
      if (positions_[i] == kSkippedPosition) continue;
      const auto* row = reinterpret_cast<const std::byte*>(rows_[positions_[i]]);
      for (int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(row + at);
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
      MaxChunk<width>(bag, column, out + column, argmax + column);
    });
  }

 private:
  template <int kWidth, bool kWeighted>
  int64_t SumChunk(Bag bag, int64_t column, float* out) const {
    float sum[kWidth] = {};
    int64_t counted = 0;
    for (int64_t i = bag.begin; i < bag.end; ++i) {
      if (positions_[i] == kSkippedPosition) continue;
      const ConstRowPointer row = rows_[positions_[i]] + column;
      ++counted;
      for (int c = 0; c < kWidth; ++c) {
        sum[c] += kWeighted ? weights_[i] * row[c].value : row[c].value;
      }
    }
    std::copy_n(sum, kWidth, out);
    return counted;
  }

  template <int kWidth>
  void MaxChunk(Bag bag, int64_t column, float* out, int32_t* argmax) const {
    float best[kWidth] = {};
    int32_t winner[kWidth];
    std::fill_n(winner, kWidth, -1);
    for (int64_t i = bag.begin; i < bag.end; ++i) {
      if (positions_[i] == kSkippedPosition) continue;
      const ConstRowPointer row = rows_[positions_[i]] + column;
      const auto occurrence = static_cast<int32_t>(i);
      for (int c = 0; c < kWidth; ++c) {
        const float value = row[c].value;
        const bool is_first = winner[c] < 0;
        const bool beats = (value > best[c]) | ((value != value) & (best[c] == best[c]));
        best[c] = is_first | beats ? value : best[c];
        winner[c] = is_first | beats ? occurrence : winner[c];
      }
    }
    std::copy_n(best, kWidth, out);
    std::copy_n(winner, kWidth, argmax);
  }

  const int32_t* positions_;
  const float* weights_;
  const ConstRowPointer* rows_;
  int64_t dim_;
  int64_t n_;
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
  pool.PrefetchBag({0, kAhead});
  for (int64_t b = 0; b < bag_count; ++b) {
    const Bag bag{bags.offsets[static_cast<size_t>(b)], bags.offsets[static_cast<size_t>(b) + 1]};
    pool.PrefetchBag({bag.begin + kAhead, bag.end + kAhead});
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
