// Stochastic gradient descent: w -= lr * g. No state.
//
// Thread safety: a value. Shapes: see row_rule.h.

#pragma once

#include "kernels/optimizers/row_rule.h"

namespace hotrow {

// One push's constants and the body that changes one row.
struct SgdRule {
  float learning_rate;

  static SgdRule Of(const OptimizerOptions& /*options*/, const StepOptions& step) {
    return {step.learning_rate};
  }

  // row.gradient is finite and summed over duplicates.
  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, const RuleRow& row) const {
    tile.ForEach(row.dim, [row, lr = learning_rate](int64_t i) {
      row.weights[i] -= lr * row.gradient[i].value;
    });
  }
};

}  // namespace hotrow
