// Unique keys and sums over duplicates on a device, as launches on a stream.
//
// Thread safety: that of the stream. Ownership: nothing; all pointers are device memory that stays
// until the work is done. Shapes: batches of 0 <= n < 2^31 occurrences; n = 0 launches only
// what clears the results. Errors: kInvalidArgument for sizes and pointers that cannot be, before
// anything is launched; else what the stream answers.

#pragma once

#include <cstdint>
#include <optional>

#include "kernels/base/result.h"
#include "kernels/dedupe/device_sort.h"
#include "kernels/dedupe/segment_sums.h"
#include "kernels/dedupe/sorted_dedupe.h"

namespace hotrow {

inline constexpr int64_t kMaxOccurrences = (int64_t{1} << 31) - 1;

// The results and the scratch memory of one dedupe; all arrays (n).
struct DeviceDedupe {
  Key* unique = nullptr;       // the first *count are written
  int32_t* inverse = nullptr;  // kSkippedPosition where the key is skipped
  int32_t* count = nullptr;    // one number
  Key* sorted_keys = nullptr;
  int32_t* numbers = nullptr;
  int32_t* order = nullptr;
  DedupeMarks marks;
  SortWorkspace sort;
};

// Deduper::Run of dedupe.h.
Result LaunchDedupe(DeviceStream& stream, const Key* keys, int64_t n, std::optional<Key> skip,
                    const DeviceDedupe& to);

// The scratch memory of sums over n occurrences of `targets` targets.
struct DeviceSums {
  uint32_t* sorted = nullptr;  // (n)
  int32_t* numbers = nullptr;  // (n)
  int32_t* order = nullptr;    // (n)
  int32_t* begins = nullptr;   // (targets)
  int32_t* ends = nullptr;     // (targets)
  LaterBlocksView later;
  SortWorkspace sort;
};

// Which occurrence adds to which target.
struct DeviceTargets {
  const int32_t* target = nullptr;  // (n) kSkippedPosition for none
  int64_t n = 0;
  int64_t targets = 0;
};

// sums (targets, dim) = sum over the occurrences of each target, by the order rule; zeros without
// one. What DuplicateSummer::Run of dedupe.h does.
Result LaunchSums(DeviceStream& stream, const DeviceTargets& targets, const RowAddend& rows,
                  const DeviceSums& scratch, float* sums);

}  // namespace hotrow
