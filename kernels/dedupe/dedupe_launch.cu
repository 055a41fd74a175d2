#include "kernels/dedupe/dedupe_launch.h"
#include "kernels/dedupe/segment_sums_launch.cuh"

namespace hotrow {
namespace {

constexpr Result Refuse(const char* message) { return {Code::kInvalidArgument, message}; }

Result CheckDedupe(const Key* keys, int64_t n, const DeviceDedupe& to) {
  if (n < 0 || n > kMaxOccurrences) return Refuse("a dedupe has 0 to 2^31 - 1 keys");
  if (to.count == nullptr) return Refuse("a dedupe needs a place for its count");
  if (n == 0) return {};
  const DedupeMarks& marks = to.marks;
  const bool has_results = keys != nullptr && to.unique != nullptr && to.inverse != nullptr;
  const bool has_scratch = to.sorted_keys != nullptr && to.numbers != nullptr &&
                           to.order != nullptr && marks.leads_run != nullptr &&
                           marks.runs_before != nullptr && marks.is_first != nullptr &&
                           marks.position != nullptr && marks.first_of != nullptr;
  return has_results && has_scratch ? Result() : Refuse("a dedupe needs keys, results and scratch");
}

}  // namespace

Result LaunchDedupe(DeviceStream& stream, const Key* keys, int64_t n, std::optional<Key> skip,
                    const DeviceDedupe& to) {
  HOTROW_RETURN_IF_ERROR(CheckDedupe(keys, n, to));
  if (n == 0) return stream.Zero(to.count, sizeof(*to.count));
  const CudaSpace space(stream);
  const DedupeMarks& marks = to.marks;
  const SortedKeysView sorted{to.sorted_keys, to.order, n, skip.value_or(0),
                              skip.has_value() ? 1U : 0U};
  HOTROW_RETURN_IF_ERROR(space.Run<1>(n, NumberStage{to.numbers}));
  HOTROW_RETURN_IF_ERROR(
      SortKeys(stream, to.sort, {keys, to.sorted_keys, to.numbers, to.order, n}));
  HOTROW_RETURN_IF_ERROR(space.Run<1>(n, MarkRunsStage{sorted, marks}));
  HOTROW_RETURN_IF_ERROR(ScanCounts(stream, to.sort, {marks.leads_run, marks.runs_before, n}));
  HOTROW_RETURN_IF_ERROR(ScanCounts(stream, to.sort, {marks.is_first, marks.position, n}));
  HOTROW_RETURN_IF_ERROR(space.Run<1>(n, NameRunsStage{sorted, marks}));
  return space.Run<1>(n, WriteUniqueStage{sorted, marks, to.unique, to.inverse, to.count});
}

Result LaunchSums(DeviceStream& stream, const DeviceTargets& targets, const RowAddend& rows,
                  const DeviceSums& scratch, float* sums) {
  if (rows.dim < 1) return Refuse("rows have at least one column");
  if (targets.n > 0 && rows.rows == nullptr) return Refuse("sums need rows");
  return LaunchSumsOf(stream, targets, scratch, rows, {sums, nullptr});
}

}  // namespace hotrow
