// A few rows under an optimizer, for the tests of the optimizers.

#pragma once

#include <vector>

#include "kernels/optimizers/row_optimizer.h"
#include "tests/kernels/math_helpers.h"

namespace hotrow {

class OptimizedRows {
 public:
  OptimizedRows(const OptimizerOptions& options, int64_t rows, int64_t dim, float weight = 0.0F)
      : options_(options),
        layout_(RowLayout::Of(dim, StateColumns(options.kind, dim))),
        values_(static_cast<size_t>(rows * layout_.row_bytes / 4)) {
    for (int64_t r = 0; r < rows; ++r) {
      records_.push_back(reinterpret_cast<std::byte*>(values_.data()) + r * layout_.row_bytes);
      for (int64_t c = 0; c < dim; ++c) layout_.weights(records_.back())[c] = weight;
      InitializeState(options, dim, layout_.state(records_.back()));
      layout_.meta(records_.back())->lsn = kMetaMark;
    }
  }

  void Apply(float learning_rate, const ConstRowsView& gradients, uint64_t step = 1) {
    ApplyGradients(options_, {learning_rate, step}, layout_, records_, gradients);
  }

  void Apply(const HostSpace& space, float learning_rate, const ConstRowsView& gradients,
             uint64_t step) {
    ApplyGradients(space, options_, {learning_rate, step}, {layout_, records_, gradients});
  }

  // One gradient for a single row.
  void Apply(float learning_rate, const std::vector<float>& gradient, uint64_t step = 1) {
    const ConstRowPointer row = AsRow(static_cast<const void*>(gradient.data()));
    Apply(learning_rate, ConstRowsView{{&row, 1}, layout_.dim}, step);
  }

  float* weights(size_t row = 0) { return layout_.weights(records_[row]); }
  float* state(size_t row = 0) { return layout_.state(records_[row]); }
  const RowLayout& layout() const { return layout_; }
  std::span<std::byte* const> records() const { return records_; }

  // Weights and state of all rows.
  std::vector<float> Values() const {
    std::vector<float> values;
    for (std::byte* const record : records_) {
      const float* const weights = layout_.weights(record);
      values.insert(values.end(), weights, weights + layout_.dim + layout_.state_columns);
    }
    return values;
  }

  // False when anything behind the state was written.
  bool MetaIsUntouched() const {
    for (std::byte* record : records_) {
      if (layout_.meta(record)->lsn != kMetaMark) return false;
    }
    return true;
  }

 private:
  static constexpr uint64_t kMetaMark = 0x0123456789abcdefULL;
  OptimizerOptions options_;
  RowLayout layout_;
  std::vector<float> values_;
  std::vector<std::byte*> records_;
};

inline OptimizerOptions Sgd() { return {.kind = OptimizerKind::kSgd}; }
inline OptimizerOptions Adagrad(float eps = 1e-10F, float initial_accumulator = 0.0F) {
  return {OptimizerKind::kAdagrad, eps, initial_accumulator};
}
inline OptimizerOptions RowwiseAdagrad(float eps = 1e-8F, float initial_accumulator = 0.0F) {
  return {OptimizerKind::kRowwiseAdagrad, eps, initial_accumulator};
}
inline OptimizerOptions Adam() { return {.kind = OptimizerKind::kAdam, .eps = 1e-8F}; }

}  // namespace hotrow
