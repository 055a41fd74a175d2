#include <algorithm>
#include <vector>

#include "kernels/base/check.h"
#include "kernels/dedupe/block_sums.h"
#include "kernels/pooling/pool_gradient.h"
#include "kernels/pooling/pooling.h"
#include "kernels/pooling/rows_ahead.h"

namespace hotrow {
namespace {

// What one bag gives to those of its occurrences whose rows are in [first, first + rows).
class BagGradients {
 public:
  BagGradients(const BagsView& bags, const PoolGradient& gradient, int64_t first, int64_t rows)
      : bags_(bags),
        gradient_(gradient),
        first_(static_cast<uint32_t>(first)),
        rows_(static_cast<uint32_t>(rows)),
        divided_(static_cast<size_t>(gradient.dim)) {}

  void AddBag(int64_t b, BlockSums* sums) {
    const auto begin = bags_.offsets[static_cast<size_t>(b)];
    const auto end = bags_.offsets[static_cast<size_t>(b) + 1];
    const float* from = gradient_.out_gradient + b * gradient_.dim;
    switch (bags_.mode) {
      case PoolingMode::kSum:
        return bags_.weights.empty() ? AddSum(begin, end, from, sums)
                                     : AddWeightedSum(begin, end, from, sums);
      case PoolingMode::kMean:
        return AddSum(begin, end, Divided(begin, end, from), sums);
      case PoolingMode::kMax:
        return AddMax(begin, end, b, sums);
    }
  }

 private:
  // Number of an occurrence's row counted from the first; at least rows_ for a row of others and,
  // as first_ and rows_ are below 2^31, for kSkippedPosition.
  uint32_t RowOf(int64_t i) const {
    return static_cast<uint32_t>(bags_.positions[static_cast<size_t>(i)]) - first_;
  }

  const float* Divided(int64_t begin, int64_t end, const float* from) {
    const auto* positions = bags_.positions.data();
    const auto skipped = std::count(positions + begin, positions + end, kSkippedPosition);
    const auto divisor = static_cast<float>(std::max<int64_t>(end - begin - skipped, 1));
    float* to = divided_.data();
    for (int64_t c = 0; c < gradient_.dim; ++c) to[c] = from[c] / divisor;
    return to;
  }

  void AddSum(int64_t begin, int64_t end, const float* from, BlockSums* sums) const {
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t row = RowOf(i);
      if (row < rows_) {
        sums->Add(static_cast<int32_t>(row), [from](int64_t c) { return from[c]; });
      }
    }
  }

  void AddWeightedSum(int64_t begin, int64_t end, const float* from, BlockSums* sums) const {
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t row = RowOf(i);
      const float weight = bags_.weights[static_cast<size_t>(i)];
      if (row < rows_) {
        sums->Add(static_cast<int32_t>(row),
                  [from, weight](int64_t c) { return weight * from[c]; });
      }
    }
  }

  // An occurrence gets the gradient in the columns that it won, and 0 in the others.
  void AddMax(int64_t begin, int64_t end, int64_t b, BlockSums* sums) const {
    const float* from = gradient_.out_gradient + b * gradient_.dim;
    const int32_t* winner = gradient_.argmax.data() + b * gradient_.dim;
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t row = RowOf(i);
      const auto occurrence = static_cast<int32_t>(i);
      if (row < rows_) {
        sums->Add(static_cast<int32_t>(row), [from, winner, occurrence](int64_t c) {
          const float value = from[c];
          return winner[c] == occurrence ? value : 0.0F;
        });
      }
    }
  }

  const BagsView& bags_;
  const PoolGradient& gradient_;
  const uint32_t first_;
  const uint32_t rows_;
  std::vector<float> divided_;  // (dim) a bag's gradient over its number of rows
};

void ScaleRows(const PoolGradient& gradient, int64_t begin, int64_t end, float* rows) {
  if (gradient.row_scale.empty()) return;
  for (int64_t r = begin; r < end; ++r) {
    float* row = rows + r * gradient.dim;
    const float scale = gradient.row_scale[static_cast<size_t>(r)];
    for (int64_t c = 0; c < gradient.dim; ++c) row[c] *= scale;
  }
}

}  // namespace

void PoolBackward(const HostSpace& space, const BagsView& bags, const PoolGradient& gradient,
                  float* row_gradients) {
  const auto bag_count = static_cast<int64_t>(bags.offsets.size()) - 1;
  HOTROW_CHECK(bag_count >= 0);
  HOTROW_CHECK(bags.mode != PoolingMode::kMax ||
               gradient.argmax.size() == static_cast<size_t>(bag_count * gradient.dim));
  HOTROW_CHECK(gradient.row_scale.empty() ||
               gradient.row_scale.size() == static_cast<size_t>(gradient.unique_count));
  // Each thread goes over all bags and adds up its own rows: the order of a row's addends stays.
  space.ForRanges(gradient.unique_count, [&](const auto& /*tile*/, int64_t begin, int64_t end) {
    BlockSums sums;
    sums.Start(row_gradients + begin * gradient.dim, end - begin, gradient.dim,
               static_cast<int64_t>(bags.positions.size()));
    BagGradients bag_gradients(bags, gradient, begin, end - begin);
    for (int64_t b = 0; b < bag_count; ++b) bag_gradients.AddBag(b, &sums);
    sums.Finish();
    ScaleRows(gradient, begin, end, row_gradients);
  });
}

void PoolBackward(const BagsView& bags, const PoolGradient& gradient, float* row_gradients) {
  PoolBackward(HostSpace(), bags, gradient, row_gradients);
}

void PoolBackwardWeights(const HostSpace& space, const BagsView& bags, const PoolGradient& gradient,
                         const ConstRowsView& rows, float* weight_gradients) {
  HOTROW_CHECK(bags.mode == PoolingMode::kSum);
  const WeightGradientStage stage{PoolView::Of(bags, rows), gradient.out_gradient,
                                  weight_gradients};
  const RowsAhead ahead(stage.pool);
  space.ForEach(static_cast<int64_t>(bags.offsets.size()) - 1,
                [&](const auto& tile, int64_t b) { stage(tile, b, ahead); });
}

void PoolBackwardWeights(const BagsView& bags, const PoolGradient& gradient,
                         const ConstRowsView& rows, float* weight_gradients) {
  PoolBackwardWeights(HostSpace(), bags, gradient, rows, weight_gradients);
}

}  // namespace hotrow
