// What the optimizers' per-row bodies share: one body per file, written once against a Tile and run
// by every space.
//
//   struct SomeRule {
//     static SomeRule Of(const OptimizerOptions&, const StepOptions&);          // once per batch
//     template <typename Tile> void operator()(const Tile&, const RuleRow&) const;  // once per row
//   };
//
// Thread safety: values. Ownership: a RuleRow borrows the record and the gradient.

#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/float_row.h"
#include "kernels/base/host_device.h"
#include "kernels/optimizers/row_optimizer.h"

namespace hotrow {

// One row and its gradient; the three do not overlap.
struct RuleRow {
  int64_t dim;
  float* weights;            // (dim)
  float* state;              // (StateColumns)
  ConstRowPointer gradient;  // (dim)
};

}  // namespace hotrow
