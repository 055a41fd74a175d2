#include "kernels/optimizers/adagrad.h"
#include "kernels/optimizers/adam.h"
#include "kernels/optimizers/optimizer_launch.h"
#include "kernels/optimizers/rowwise_adagrad.h"
#include "kernels/optimizers/sgd.h"
#include "kernels/space/cuda_space.cuh"

namespace hotrow {
namespace {

constexpr int kLanes = 32;

constexpr Result Refuse(const char* message) { return {Code::kInvalidArgument, message}; }

template <typename Rule>
Result Launch(DeviceStream& stream, const Rule& rule, const GradientBatch& batch) {
  return CudaSpace(stream).Run<kLanes>(
      static_cast<int64_t>(batch.records.size()),
      RuleStage<Rule>{rule, batch.layout, batch.records.data(), batch.gradients.rows.data()});
}

}  // namespace

Result LaunchApplyGradients(DeviceStream& stream, const OptimizerOptions& options,
                            const StepOptions& step, const GradientBatch& batch) {
  HOTROW_RETURN_IF_ERROR(ValidateOptimizer(options));
  if (step.step < 1) return Refuse("steps count from 1");
  if (batch.records.size() != batch.gradients.rows.size()) {
    return Refuse("there is one gradient per record");
  }
  if (batch.layout.dim < 1 || batch.gradients.dim != batch.layout.dim) {
    return Refuse("gradients and records differ in dim");
  }
  if (batch.layout.state_columns != StateColumns(options.kind, batch.layout.dim)) {
    return Refuse("the records hold another optimizer's state");
  }
  switch (options.kind) {
    case OptimizerKind::kSgd:
      return Launch(stream, SgdRule::Of(options, step), batch);
    case OptimizerKind::kAdagrad:
      return Launch(stream, AdagradRule::Of(options, step), batch);
    case OptimizerKind::kRowwiseAdagrad:
      return Launch(stream, RowwiseAdagradRule::Of(options, step), batch);
    case OptimizerKind::kAdam:
      return Launch(stream, AdamRule::Of(options, step), batch);
  }
  return Refuse("there is no such optimizer");
}

}  // namespace hotrow
