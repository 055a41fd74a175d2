// Pooling on a device, as launches on a stream: the functions of pooling.h.
//
// Thread safety: that of the stream. Ownership: nothing; the spans of BagsView, PoolGradient and
// ConstRowsView hold device memory here (their sizes are read, their elements are not). Rows lie at
// 4-byte boundaries. Errors: kInvalidArgument for sizes and pointers that cannot be, before
// anything is launched; else what the stream answers.

#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/result.h"
#include "kernels/dedupe/dedupe_launch.h"
#include "kernels/pooling/pool_gradient.h"
#include "kernels/pooling/pooling.h"

namespace hotrow {

Result LaunchPoolForward(DeviceStream& stream, const BagsView& bags, const ConstRowsView& rows,
                         float* out, std::span<int32_t> argmax);

// The scratch memory of LaunchPoolBackward.
struct DevicePoolScratch {
  BagOfView bags;
  DeviceSums sums;
};

// row_gradients (unique_count, dim).
Result LaunchPoolBackward(DeviceStream& stream, const BagsView& bags, const PoolGradient& gradient,
                          const DevicePoolScratch& scratch, float* row_gradients);

// weight_gradients (n). kSum only.
Result LaunchPoolBackwardWeights(DeviceStream& stream, const BagsView& bags,
                                 const PoolGradient& gradient, const ConstRowsView& rows,
                                 float* weight_gradients);

}  // namespace hotrow
