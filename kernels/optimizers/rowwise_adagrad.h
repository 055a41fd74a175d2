// Row-wise Adagrad: one accumulator per row, as FBGEMM's EXACT_ROWWISE_ADAGRAD has it.
//
//   h += sum(g * g) / dim;  w -= (lr / (sqrt(h) + eps)) * g
//
// State: h (1). The sum has the one shape of row_reduction.h. Thread safety: a value.

#pragma once

#include "kernels/optimizers/row_rule.h"
#include "kernels/space/row_reduction.h"

namespace hotrow {

// One push's constants and the body that changes one row.
struct RowwiseAdagradRule {
  float learning_rate;
  float eps;

  static RowwiseAdagradRule Of(const OptimizerOptions& options, const StepOptions& step) {
    return {step.learning_rate, options.eps};
  }

  // row.gradient is finite and summed over duplicates; row.state[0] holds h.
  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, const RuleRow& row) const {
    const float mean = SumOfSquares(tile, row.dim, row.gradient) / static_cast<float>(row.dim);
    const float h = tile.Leader(0, [&] { return row.state[0] += mean; });
    const float rate = learning_rate / (std::sqrt(h) + eps);
    tile.ForEach(row.dim,
                 [row, rate](int64_t i) { row.weights[i] -= rate * row.gradient[i].value; });
  }
};

}  // namespace hotrow
