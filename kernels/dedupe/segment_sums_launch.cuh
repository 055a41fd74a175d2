// The launches of sums over segments, for any kind of addend.
//
// Thread safety, ownership, errors: see dedupe_launch.h.

#pragma once

#include "kernels/dedupe/dedupe_launch.h"
#include "kernels/space/cuda_space.cuh"

namespace hotrow {

inline Result CheckSums(const DeviceTargets& targets, const DeviceSums& scratch,
                        const float* sums) {
  const auto refuse = [](const char* message) { return Result(Code::kInvalidArgument, message); };
  if (targets.n < 0 || targets.n > kMaxOccurrences || targets.targets < 0 ||
      targets.targets > kMaxOccurrences) {
    return refuse("sums have 0 to 2^31 - 1 occurrences and targets");
  }
  if (targets.targets == 0) return {};
  if (sums == nullptr) return refuse("sums need memory");
  const LaterBlocksView& later = scratch.later;
  if (scratch.begins == nullptr || scratch.ends == nullptr || later.counts == nullptr ||
      later.begins == nullptr) {
    return refuse("sums need scratch memory for their targets");
  }
  if (targets.n > 0 && (targets.target == nullptr || scratch.sorted == nullptr ||
                        scratch.numbers == nullptr || scratch.order == nullptr)) {
    return refuse("sums need targets and scratch memory for their occurrences");
  }
  if (LaterBlocks(targets.n) > 0 && (later.targets == nullptr || later.sums == nullptr)) {
    return refuse("sums of more than 255 occurrences need memory for their blocks");
  }
  return {};
}

// Occurrences sorted by target, in request order within one.
inline Result LaunchSegments(const CudaSpace& space, const DeviceTargets& targets,
                             const DeviceSums& scratch) {
  DeviceStream& stream = space.stream();
  const auto bytes = targets.targets * static_cast<int64_t>(sizeof(int32_t));
  HOTROW_RETURN_IF_ERROR(stream.Zero(scratch.begins, bytes));
  HOTROW_RETURN_IF_ERROR(stream.Zero(scratch.ends, bytes));
  if (targets.n == 0) return {};
  HOTROW_RETURN_IF_ERROR(space.Run<1>(targets.n, NumberStage{scratch.numbers}));
  // As unsigned, kSkippedPosition comes after every target.
  const auto* const firsts = reinterpret_cast<const uint32_t*>(targets.target);
  HOTROW_RETURN_IF_ERROR(SortTargets(
      stream, scratch.sort, {firsts, scratch.sorted, scratch.numbers, scratch.order, targets.n}));
  return space.Run<1>(targets.n, FindSegmentsStage{scratch.sorted,
                                                   targets.n,
                                                   targets.targets,
                                                   {scratch.order, scratch.begins, scratch.ends}});
}

template <typename Addend>
Result LaunchSumsOf(DeviceStream& stream, const DeviceTargets& targets, const DeviceSums& scratch,
                    const Addend& addend, const SumOutput& to) {
  HOTROW_RETURN_IF_ERROR(CheckSums(targets, scratch, to.sums));
  if (targets.targets == 0) return {};
  constexpr int kLanes = 32;
  const CudaSpace space(stream);
  const SegmentView segments{scratch.order, scratch.begins, scratch.ends};
  const LaterBlocksView& later = scratch.later;
  const int64_t count = targets.targets;
  HOTROW_RETURN_IF_ERROR(LaunchSegments(space, targets, scratch));
  HOTROW_RETURN_IF_ERROR(space.Run<1>(count, CountLaterBlocksStage{segments, later}));
  HOTROW_RETURN_IF_ERROR(ScanCounts(stream, scratch.sort, {later.counts, later.begins, count}));
  HOTROW_RETURN_IF_ERROR(
      space.Run<kLanes>(count, SumFirstBlockStage<Addend>{segments, later, addend, to.sums}));
  HOTROW_RETURN_IF_ERROR(space.Run<kLanes>(
      LaterBlocks(targets.n), SumLaterBlockStage<Addend>{segments, later, addend, count}));
  return space.Run<kLanes>(count, AddBlocksStage{later, addend.dim, to});
}

}  // namespace hotrow
