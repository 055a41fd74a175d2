// The reductions over a row, in the one shape of every tile width and space (see Tile::Sum): 32
// strided partial sums, then a fixed tree. Float32, each product rounded before it is added.
//
// Thread safety: pure functions. Shapes: rows of `dim` float32 at any byte address.

#pragma once

#include <cstdint>

#include "kernels/base/float_row.h"
#include "kernels/base/host_device.h"

namespace hotrow {

// Sum of row[i]^2. `Row` is ConstRowPointer or const float*.
template <typename Tile, typename Row>
HOTROW_HOST_DEVICE float SumOfSquares(const Tile& tile, int64_t dim, Row row) {
  return tile.Sum(dim, [row](int64_t i) {
    const float value = row[i];
    return value * value;
  });
}

// Sum of a[i] x b[i].
template <typename Tile, typename RowA, typename RowB>
HOTROW_HOST_DEVICE float DotProduct(const Tile& tile, int64_t dim, RowA a, RowB b) {
  return tile.Sum(dim, [a, b](int64_t i) {
    const float left = a[i];
    const float right = b[i];
    return left * right;
  });
}

}  // namespace hotrow
