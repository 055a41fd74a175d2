#include "kernels/dedupe/segment_sums_launch.cuh"
#include "kernels/pooling/pool_bag.h"
#include "kernels/pooling/pooling_launch.h"
#include "kernels/space/cuda_space.cuh"

namespace hotrow {
namespace {

constexpr int kLanes = 32;

constexpr Result Refuse(const char* message) { return {Code::kInvalidArgument, message}; }

int64_t Count(const BagsView& bags) { return static_cast<int64_t>(bags.offsets.size()) - 1; }

Result CheckBags(const BagsView& bags, int64_t dim, std::span<const int32_t> argmax) {
  if (bags.offsets.empty()) return Refuse("bags have one offset more than there are bags");
  if (dim < 1) return Refuse("rows have at least one column");
  if (static_cast<int64_t>(bags.positions.size()) > kMaxOccurrences) {
    return Refuse("bags have at most 2^31 - 1 positions");
  }
  const bool is_weighted = !bags.weights.empty();
  if (is_weighted && bags.mode != PoolingMode::kSum) return Refuse("only sums take weights");
  if (is_weighted && bags.weights.size() != bags.positions.size()) {
    return Refuse("there is one weight per position");
  }
  if (bags.mode == PoolingMode::kMax && argmax.size() != static_cast<size_t>(Count(bags) * dim)) {
    return Refuse("argmax of a maximum has one number per bag and column");
  }
  return {};
}

}  // namespace

Result LaunchPoolForward(DeviceStream& stream, const BagsView& bags, const ConstRowsView& rows,
                         float* out, std::span<int32_t> argmax) {
  HOTROW_RETURN_IF_ERROR(CheckBags(bags, rows.dim, argmax));
  if (Count(bags) > 0 && out == nullptr) return Refuse("pooling needs memory for its output");
  return CudaSpace(stream).Run<kLanes>(
      Count(bags), PoolStage{bags.mode, PoolView::Of(bags, rows), out, argmax.data()});
}

Result LaunchPoolBackward(DeviceStream& stream, const BagsView& bags, const PoolGradient& gradient,
                          const DevicePoolScratch& scratch, float* row_gradients) {
  HOTROW_RETURN_IF_ERROR(CheckBags(bags, gradient.dim, gradient.argmax));
  const auto n = static_cast<int64_t>(bags.positions.size());
  if (!gradient.row_scale.empty() &&
      gradient.row_scale.size() != static_cast<size_t>(gradient.unique_count)) {
    return Refuse("there is one scale per row");
  }
  if (n > 0 && (gradient.out_gradient == nullptr || scratch.bags.bag_of == nullptr ||
                scratch.bags.divisors == nullptr)) {
    return Refuse("backward pooling needs a gradient and scratch memory");
  }
  const DeviceTargets targets{bags.positions.data(), n, gradient.unique_count};
  HOTROW_RETURN_IF_ERROR(CheckSums(targets, scratch.sums, row_gradients));
  const PoolView pool = PoolView::Of(bags, {{}, gradient.dim});
  if (n > 0) {
    HOTROW_RETURN_IF_ERROR(
        CudaSpace(stream).Run<kLanes>(Count(bags), FindBagsStage{pool, scratch.bags}));
  }
  const BagAddend addend{bags.mode,    gradient.dim,           gradient.out_gradient,
                         pool.weights, gradient.argmax.data(), scratch.bags};
  const float* const scale = gradient.row_scale.empty() ? nullptr : gradient.row_scale.data();
  return LaunchSumsOf(stream, targets, scratch.sums, addend, {row_gradients, scale});
}

Result LaunchPoolBackwardWeights(DeviceStream& stream, const BagsView& bags,
                                 const PoolGradient& gradient, const ConstRowsView& rows,
                                 float* weight_gradients) {
  HOTROW_RETURN_IF_ERROR(CheckBags(bags, rows.dim, {}));
  if (bags.mode != PoolingMode::kSum) return Refuse("only sums have gradients of weights");
  if (rows.dim != gradient.dim) return Refuse("rows and gradient differ in dim");
  if (!bags.positions.empty() &&
      (gradient.out_gradient == nullptr || weight_gradients == nullptr)) {
    return Refuse("gradients of weights need a gradient and memory for the result");
  }
  return CudaSpace(stream).Run<kLanes>(
      Count(bags),
      WeightGradientStage{PoolView::Of(bags, rows), gradient.out_gradient, weight_gradients});
}

}  // namespace hotrow
