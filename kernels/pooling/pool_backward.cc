#include <algorithm>
#include <vector>

#include "kernels/base/check.h"
#include "kernels/dedupe/block_sums.h"
#include "kernels/pooling/pooling.h"
#include "kernels/space/prefetch.h"
#include "kernels/space/row_reduction.h"
#include "kernels/space/tile.h"

namespace hotrow {
namespace {

// Occurrences whose rows are requested ahead, and how many bytes of each.
constexpr int64_t kAhead = 16;
constexpr int64_t kAheadBytes = 512;

// What one bag gives to each of its occurrences.
class BagGradients {
 public:
  BagGradients(const BagsView& bags, const PoolGradient& gradient)
      : bags_(bags), gradient_(gradient), divided_(static_cast<size_t>(gradient.dim)) {}

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
      const int32_t position = bags_.positions[static_cast<size_t>(i)];
      if (position != kSkippedPosition) {
        sums->Add(position, [from](int64_t c) { return from[c]; });
      }
    }
  }

  void AddWeightedSum(int64_t begin, int64_t end, const float* from, BlockSums* sums) const {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t position = bags_.positions[static_cast<size_t>(i)];
      const float weight = bags_.weights[static_cast<size_t>(i)];
      if (position != kSkippedPosition) {
        sums->Add(position, [from, weight](int64_t c) { return weight * from[c]; });
      }
    }
  }

  // An occurrence gets the gradient in the columns that it won, and 0 in the others.
  void AddMax(int64_t begin, int64_t end, int64_t b, BlockSums* sums) const {
    const float* from = gradient_.out_gradient + b * gradient_.dim;
    const int32_t* winner = gradient_.argmax.data() + b * gradient_.dim;
    for (int64_t i = begin; i < end; ++i) {
      const int32_t position = bags_.positions[static_cast<size_t>(i)];
      const auto occurrence = static_cast<int32_t>(i);
      if (position != kSkippedPosition) {
        sums->Add(position, [from, winner, occurrence](int64_t c) {
          const float value = from[c];
          return winner[c] == occurrence ? value : 0.0F;
        });
      }
    }
  }

  const BagsView& bags_;
  const PoolGradient& gradient_;
  std::vector<float> divided_;  // (dim) a bag's gradient over its number of rows
};

void ScaleRows(std::span<const float> scale, int64_t dim, float* rows) {
  for (size_t r = 0; r < scale.size(); ++r) {
    float* row = rows + static_cast<int64_t>(r) * dim;
    for (int64_t c = 0; c < dim; ++c) row[c] *= scale[r];
  }
}

}  // namespace

void PoolBackward(const BagsView& bags, const PoolGradient& gradient, float* row_gradients) {
  const auto bag_count = static_cast<int64_t>(bags.offsets.size()) - 1;
  HOTROW_CHECK(bag_count >= 0);
  HOTROW_CHECK(bags.mode != PoolingMode::kMax ||
               gradient.argmax.size() == static_cast<size_t>(bag_count * gradient.dim));
  HOTROW_CHECK(gradient.row_scale.empty() ||
               gradient.row_scale.size() == static_cast<size_t>(gradient.unique_count));
  BlockSums sums;
  sums.Start(row_gradients, gradient.unique_count, gradient.dim,
             static_cast<int64_t>(bags.positions.size()));
  BagGradients bag_gradients(bags, gradient);
  for (int64_t b = 0; b < bag_count; ++b) bag_gradients.AddBag(b, &sums);
  sums.Finish();
  ScaleRows(gradient.row_scale, gradient.dim, row_gradients);
}

void PoolBackwardWeights(const BagsView& bags, const PoolGradient& gradient,
                         const ConstRowsView& rows, float* weight_gradients) {
  HOTROW_CHECK(bags.mode == PoolingMode::kSum);
  const HostTile<32> tile;
  const auto n = static_cast<int64_t>(bags.positions.size());
  const int32_t* positions = bags.positions.data();
  const int64_t ahead_bytes = std::min<int64_t>(gradient.dim * 4, kAheadBytes);
  for (size_t b = 0; b + 1 < bags.offsets.size(); ++b) {
    const float* from = gradient.out_gradient + static_cast<int64_t>(b) * gradient.dim;
    for (int64_t i = bags.offsets[b]; i < bags.offsets[b + 1]; ++i) {
      if (i + kAhead < n && positions[i + kAhead] != kSkippedPosition) {
        PrefetchToRead(rows.rows[static_cast<size_t>(positions[i + kAhead])], ahead_bytes);
      }
      weight_gradients[i] =
          positions[i] == kSkippedPosition
              ? 0.0F
              : DotProduct(tile, gradient.dim, rows.rows[static_cast<size_t>(positions[i])], from);
    }
  }
}

}  // namespace hotrow
