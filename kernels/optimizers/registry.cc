#include <algorithm>
#include <cmath>

#include "kernels/base/check.h"
#include "kernels/optimizers/adagrad.h"
#include "kernels/optimizers/adam.h"
#include "kernels/optimizers/row_optimizer.h"
#include "kernels/optimizers/rowwise_adagrad.h"
#include "kernels/optimizers/sgd.h"
#include "kernels/space/prefetch.h"

namespace hotrow {
namespace {

// Bytes of records requested ahead of the row in work; a few kilobytes hide the latency of memory
// without pushing each other out of the first cache level (bench/kernel_bench.cc).
constexpr int64_t kAheadBytes = 4096;

template <typename Rule>
void ApplyRule(const HostSpace& space, const Rule& rule, const GradientBatch& batch) {
  const RuleStage<Rule> stage{rule, batch.layout, batch.records.data(),
                              batch.gradients.rows.data()};
  const int64_t ahead = std::clamp<int64_t>(kAheadBytes / batch.layout.row_bytes, 1, 16);
  const int64_t used_bytes = batch.layout.meta_offset;
  space.ForRanges(static_cast<int64_t>(batch.records.size()),
                  [&](const auto& tile, int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < std::min(begin + ahead, end); ++i) {
                      PrefetchToWrite(stage.records[i], used_bytes);
                    }
                    for (int64_t i = begin; i < end; ++i) {
                      if (i + ahead < end) PrefetchToWrite(stage.records[i + ahead], used_bytes);
                      stage(tile, i);
                    }
                  });
}

bool IsFiniteAndNotNegative(float value) { return std::isfinite(value) && value >= 0.0F; }

bool IsBeta(float value) { return value >= 0.0F && value < 1.0F; }

constexpr Result Refuse(const char* message) { return {Code::kInvalidArgument, message}; }

Result ValidateAdagrad(const OptimizerOptions& options) {
  if (!IsFiniteAndNotNegative(options.initial_accumulator)) {
    return Refuse("initial_accumulator must be finite and not negative");
  }
  if (options.eps == 0.0F && options.initial_accumulator == 0.0F) {
    return Refuse("eps must be positive when initial_accumulator is 0: a gradient of 0 is 0 / 0");
  }
  return {};
}

Result ValidateAdam(const OptimizerOptions& options) {
  if (!IsBeta(options.beta1)) return Refuse("beta1 must be at least 0 and less than 1");
  if (!IsBeta(options.beta2)) return Refuse("beta2 must be at least 0 and less than 1");
  if (options.eps == 0.0F) return Refuse("eps must be positive: a gradient of 0 is 0 / 0");
  return {};
}

}  // namespace

std::string_view OptimizerName(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return "sgd";
    case OptimizerKind::kAdagrad:
      return "adagrad";
    case OptimizerKind::kRowwiseAdagrad:
      return "rowwise_adagrad";
    case OptimizerKind::kAdam:
      return "adam";
  }
  HOTROW_CHECK(false);
}

int64_t StateColumns(OptimizerKind kind, int64_t dim) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return 0;
    case OptimizerKind::kAdagrad:
      return dim;
    case OptimizerKind::kRowwiseAdagrad:
      return 1;
    case OptimizerKind::kAdam:
      return 2 * dim;
  }
  HOTROW_CHECK(false);
}

Result ValidateOptimizer(const OptimizerOptions& options) {
  if (options.kind == OptimizerKind::kSgd) return {};
  if (!IsFiniteAndNotNegative(options.eps)) return Refuse("eps must be finite and not negative");
  if (options.kind == OptimizerKind::kAdam) return ValidateAdam(options);
  return ValidateAdagrad(options);
}

void InitializeState(const OptimizerOptions& options, int64_t dim, float* state) {
  const bool accumulates =
      options.kind == OptimizerKind::kAdagrad || options.kind == OptimizerKind::kRowwiseAdagrad;
  std::fill_n(state, StateColumns(options.kind, dim),
              accumulates ? options.initial_accumulator : 0.0F);
}

void ApplyGradients(const HostSpace& space, const OptimizerOptions& options,
                    const StepOptions& step, const GradientBatch& batch) {
  const int64_t dim = batch.layout.dim;
  HOTROW_CHECK(batch.records.size() == batch.gradients.rows.size());
  HOTROW_CHECK(batch.gradients.dim == dim);
  HOTROW_CHECK(batch.layout.state_columns == StateColumns(options.kind, dim));
  switch (options.kind) {
    case OptimizerKind::kSgd:
      return ApplyRule(space, SgdRule::Of(options, step), batch);
    case OptimizerKind::kAdagrad:
      return ApplyRule(space, AdagradRule::Of(options, step), batch);
    case OptimizerKind::kRowwiseAdagrad:
      return ApplyRule(space, RowwiseAdagradRule::Of(options, step), batch);
    case OptimizerKind::kAdam:
      return ApplyRule(space, AdamRule::Of(options, step), batch);
  }
}

void ApplyGradients(const OptimizerOptions& options, const StepOptions& step,
                    const RowLayout& layout, std::span<std::byte* const> records,
                    const ConstRowsView& gradients) {
  ApplyGradients(HostSpace(), options, step, {layout, records, gradients});
}

}  // namespace hotrow
