// The optimizers on a device, as launches on a stream: ApplyGradients of row_optimizer.h.
//
// Thread safety: that of the stream. Ownership: nothing; the spans hold device memory here (their
// sizes are read, their elements are not). A record that is null is skipped; gradients lie at
// 4-byte boundaries. Errors: kInvalidArgument for sizes that do not fit together, before anything
// is launched; else what the stream answers.

#pragma once

#include "kernels/base/result.h"
#include "kernels/optimizers/row_optimizer.h"
#include "kernels/space/device_stream.h"

namespace hotrow {

Result LaunchApplyGradients(DeviceStream& stream, const OptimizerOptions& options,
                            const StepOptions& step, const GradientBatch& batch);

}  // namespace hotrow
