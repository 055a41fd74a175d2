// The optimizers: how one summed gradient changes one row. One file per rule (sgd.h, adagrad.h,
// ...), one registry, and one batch entry point for the space that runs it.
//
// Thread safety: values and pure functions; concurrent calls must work on different rows.
// Shapes: a row record holds `dim` float32 weights, then StateColumns(kind, dim) float32 of
// optimizer state. Exactness: float32, no contraction to FMA, no libm; reductions over a row are 32
// strided partial sums and a fixed tree (kernels/space/tile.h), so every tile width, space and
// shard count gives the same bits.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/base/float_row.h"
#include "kernels/base/result.h"
#include "kernels/base/row_layout.h"
#include "kernels/space/host_space.h"

namespace hotrow {

enum class OptimizerKind : uint8_t { kSgd, kAdagrad, kRowwiseAdagrad, kAdam };

// Hyper-parameters that are fixed with the table. Fields that a rule does not use are ignored by
// it.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kSgd;
  float eps = 0.0F;
  float initial_accumulator = 0.0F;  // adagrad, rowwise_adagrad
  float beta1 = 0.9F;                // adam
  float beta2 = 0.999F;              // adam
};

// What one push brings with it.
struct StepOptions {
  float learning_rate = 0.0F;
  uint64_t step = 1;  // >= 1: training step, for bias correction
};

// "sgd", "adagrad", "rowwise_adagrad", "adam".
std::string_view OptimizerName(OptimizerKind kind);

// Float32 columns of state per row.
int64_t StateColumns(OptimizerKind kind, int64_t dim);

// Refuses non-finite, negative or out-of-range hyper-parameters with a sentence that names the
// field.
Result ValidateOptimizer(const OptimizerOptions& options);

// State of a row that no gradient has touched, written to state[0 .. StateColumns).
void InitializeState(const OptimizerOptions& options, int64_t dim, float* state);

// The rows of one push. (n) records and gradients.
struct GradientBatch {
  RowLayout layout;
  std::span<std::byte* const> records;
  ConstRowsView gradients;
};

// Applies gradients[i] to the record at records[i] (weights, then state; see RowLayout) for every
// i. Records are distinct; gradients are finite and already summed over duplicates. Row metadata is
// the caller's. Without a space, on the calling thread.
void ApplyGradients(const HostSpace& space, const OptimizerOptions& options,
                    const StepOptions& step, const GradientBatch& batch);
void ApplyGradients(const OptimizerOptions& options, const StepOptions& step,
                    const RowLayout& layout, std::span<std::byte* const> records,
                    const ConstRowsView& gradients);

}  // namespace hotrow
