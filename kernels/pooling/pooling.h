// Pooling of bags of rows, forward and backward, straight from wherever the rows lie.
//
// Thread safety: pure functions over the caller's buffers. A bag is positions[offsets[b] ..
// offsets[b + 1]). Semantics are those of torch.nn.EmbeddingBag: positions that are
// kSkippedPosition (padding) count neither in sums, nor in the mean's divisor, nor in the maximum;
// a bag without any other position gives zeros. Maximum: ties go to the first position of the bag,
// NaN wins. Order: a bag is summed in bag order, float32, one position after the other.

#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/float_row.h"
#include "kernels/base/position.h"
#include "kernels/space/host_space.h"

namespace hotrow {

enum class PoolingMode : uint8_t { kSum, kMean, kMax };

// Everything that describes the bags of one call. Nothing is owned.
struct BagsView {
  PoolingMode mode = PoolingMode::kSum;
  std::span<const int64_t>
      offsets;  // (bags + 1), offsets[0] = 0, non-decreasing, offsets[bags] = n
  std::span<const int32_t> positions;  // (n) row of each occurrence, or kSkippedPosition
  std::span<const float> weights;      // (n) per-occurrence weights, or empty; kSum only
};

// out (bags, dim). For kMax, argmax (bags, dim) gets the occurrence index in 0 .. n-1 that won each
// column, -1 in an empty bag; pass an empty span for the other modes. Like the functions below, on
// the threads of a space or, without one, on the calling thread: the bits are the same.
void PoolForward(const HostSpace& space, const BagsView& bags, const ConstRowsView& rows,
                 float* out, std::span<int32_t> argmax);
void PoolForward(const BagsView& bags, const ConstRowsView& rows, float* out,
                 std::span<int32_t> argmax);

struct PoolGradient {
  const float* out_gradient = nullptr;  // (bags, dim)
  int64_t dim = 0;
  std::span<const int32_t> argmax;  // as written by PoolForward; kMax only
  std::span<const float>
      row_scale;  // (unique) factor per row gradient, or empty; for scale_grad_by_freq
  int64_t unique_count = 0;
};

// row_gradients (unique_count, dim): sum over the occurrences of each row, by the order rule of
// dedupe.h (request order, blocks of kSumBlock, then the blocks). Mean divides by the counted
// positions of the bag.
void PoolBackward(const HostSpace& space, const BagsView& bags, const PoolGradient& gradient,
                  float* row_gradients);
void PoolBackward(const BagsView& bags, const PoolGradient& gradient, float* row_gradients);

// weight_gradients (n): dot product of each occurrence's row with its bag's gradient (32 strided
// partial sums and a fixed tree); 0 at skipped positions. kSum only.
void PoolBackwardWeights(const HostSpace& space, const BagsView& bags, const PoolGradient& gradient,
                         const ConstRowsView& rows, float* weight_gradients);
void PoolBackwardWeights(const BagsView& bags, const PoolGradient& gradient,
                         const ConstRowsView& rows, float* weight_gradients);

}  // namespace hotrow
