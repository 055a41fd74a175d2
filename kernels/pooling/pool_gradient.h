// Backward pooling, occurrence by occurrence: the bodies of every space.
//
// The gradient of a row is a sum over the occurrences of its key, wherever their bags are: the
// addends come from here, their order from dedupe/segment_sums.h. On the host pool_backward.cc adds
// bag by bag, in the same order.
//
// Thread safety: bodies on different bags or rows may run beside each other. Ownership: nothing.

#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/pooling/pool_bag.h"
#include "kernels/space/row_reduction.h"

namespace hotrow {

// The gradients of the weights of bag b: its rows' dot products with the bag's gradient. `hint` is
// called with each occurrence before its row is read.
struct WeightGradientStage {
  static constexpr const char* kName = "weight_gradient";
  PoolView pool;
  const float* out_gradient;  // (bags, dim)
  float* weight_gradients;    // (n)

  template <typename Tile, typename Hint>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t b, const Hint& hint) const {
    const Bag bag = pool.BagAt(b);
    const float* const from = out_gradient + b * pool.dim;
    for (int64_t i = bag.begin; i < bag.end; ++i) {
      hint(i);
      const ConstRowPointer row = pool.RowAt(i, 0);
      const float gradient = row == nullptr ? 0.0F : DotProduct(tile, pool.dim, row, from);
      tile.Leader(0, [&] {
        weight_gradients[i] = gradient;
        return 0;
      });
    }
  }

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t b) const {
    (*this)(tile, b, NoHint());
  }
};

// Which bag an occurrence belongs to, and what its mean is divided by. All filled by FindBagsStage.
struct BagOfView {
  int32_t* bag_of;  // (n)
  float* divisors;  // (bags)
};

// Bag b writes its number to its occurrences, and counts those that are not skipped.
struct FindBagsStage {
  static constexpr const char* kName = "find_bags";
  PoolView pool;
  BagOfView to;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t b) const {
    const Bag bag = pool.BagAt(b);
    tile.ForEach(bag.end - bag.begin,
                 [&](int64_t i) { to.bag_of[bag.begin + i] = static_cast<int32_t>(b); });
    const int64_t counted = tile.Sum(bag.end - bag.begin, [&](int64_t i) {
      return int64_t{pool.positions[bag.begin + i] == kSkippedPosition ? 0 : 1};
    });
    tile.Leader(0, [&] {
      to.divisors[b] = counted > 1 ? static_cast<float>(counted) : 1.0F;
      return 0;
    });
  }
};

// A lane reads its columns of the bag's gradient; the bag's number and divisor are one read for the
// whole tile. What a bag's gradient gives to one of its occurrences, column by column: an addend of
// its row's gradient.
struct BagAddend {
  PoolingMode mode;
  int64_t dim;
  const float* out_gradient;  // (bags, dim)
  const float* weights;       // (n) or null
  const int32_t* argmax;      // (bags, dim); kMax only
  BagOfView bags;

  HOTROW_HOST_DEVICE float operator()(int64_t occurrence, int64_t column) const {
    const int64_t bag = bags.bag_of[occurrence];
    const float value = out_gradient[bag * dim + column];
    if (mode == PoolingMode::kMean) return value / bags.divisors[bag];
    if (mode == PoolingMode::kMax) {
      return argmax[bag * dim + column] == static_cast<int32_t>(occurrence) ? value : 0.0F;
    }
    return weights == nullptr ? value : weights[occurrence] * value;
  }
};

}  // namespace hotrow
