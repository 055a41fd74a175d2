// Backward pooling, occurrence by occurrence: the bodies of every space.
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

}  // namespace hotrow
