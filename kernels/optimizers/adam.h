// Lazy Adam (Kingma, Ba 2015): moments of touched rows only. Operation by operation what
// torch.optim.SparseAdam does, with the bias correction of the step that the push carries:
//
//   m += (1 - beta1) * (g - m);  v += (1 - beta2) * (g * g - v)
//   w -= step_size * (m / (sqrt(v) + eps)),  step_size = lr * sqrt(1 - beta2^t) / (1 - beta1^t)
//
// 1 - beta and step_size are computed once per batch in double and rounded to float32. They start
// from the decimals that the float32 options were written as (decimal.h): 1 - 0.999F is 1.3e-5 off.
//
// State: m (dim), then v (dim). Thread safety: a value.

#pragma once

#include "kernels/base/check.h"
#include "kernels/optimizers/decimal.h"
#include "kernels/optimizers/row_rule.h"

namespace hotrow {

// base^exponent by squaring; 0 where it is too small for a double.
constexpr double IntegerPower(double base, uint64_t exponent) {
  double power = 1.0;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power *= base;
    base *= base;
  }
  return power;
}

struct AdamRule {
  float step_size;
  float first_rate;   // 1 - beta1
  float second_rate;  // 1 - beta2
  float eps;

  static AdamRule Of(const OptimizerOptions& options, const StepOptions& step) {
    HOTROW_CHECK(step.step >= 1);
    const double beta1 = WrittenDecimal(options.beta1);
    const double beta2 = WrittenDecimal(options.beta2);
    const double correction1 = 1.0 - IntegerPower(beta1, step.step);
    const double correction2 = 1.0 - IntegerPower(beta2, step.step);
    const double step_size =
        WrittenDecimal(step.learning_rate) * std::sqrt(correction2) / correction1;
    return {static_cast<float>(step_size), static_cast<float>(1.0 - beta1),
            static_cast<float>(1.0 - beta2), options.eps};
  }

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, const RuleRow& row) const {
    float* first = row.state;
    float* second = row.state + row.dim;
    tile.ForEach(row.dim, [row, first, second, rule = *this](int64_t i) {
      const float g = row.gradient[i].value;
      const float m = first[i] + rule.first_rate * (g - first[i]);
      const float v = second[i] + rule.second_rate * (g * g - second[i]);
      first[i] = m;
      second[i] = v;
      row.weights[i] -= rule.step_size * (m / (std::sqrt(v) + rule.eps));
    });
  }
};

}  // namespace hotrow
