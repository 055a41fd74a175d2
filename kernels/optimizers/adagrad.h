// Adagrad (Duchi, Hazan, Singer 2011), as torch.optim.Adagrad has it: eps outside of the root.
//
//   h += g * g;  w -= (lr * g) / (sqrt(h) + eps)      element by element
//
// State: h (dim). Thread safety: a value.

#pragma once

#include "kernels/optimizers/row_rule.h"

namespace hotrow {

// One push's constants and the body that changes one row.
struct AdagradRule {
  float learning_rate;
  float eps;

  static AdagradRule Of(const OptimizerOptions& options, const StepOptions& step) {
    return {step.learning_rate, options.eps};
  }

  // row.gradient is finite and summed over duplicates; row.state holds h.
  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, const RuleRow& row) const {
    tile.ForEach(row.dim, [row, lr = learning_rate, eps = eps](int64_t i) {
      const float g = row.gradient[i].value;
      const float h = row.state[i] + g * g;
      row.state[i] = h;
      row.weights[i] -= lr * g / (std::sqrt(h) + eps);
    });
  }
};

}  // namespace hotrow
