// The sorts and the scan that a device's dedupe is made of: CUB's, behind functions of our own, so
// that only one file includes it and tests put their own in its place.
//
// Thread safety: that of the stream. Ownership: nothing; all pointers are device memory. Shapes:
// arrays (n), 0 < n < 2^31. Errors: kInvalidArgument for a workspace that is too small; else what
// the device answers.

#pragma once

#include <cstdint>

#include "kernels/base/key.h"
#include "kernels/base/result.h"
#include "kernels/space/device_stream.h"

namespace hotrow {

// Shared by calls on one stream, which come one after the other. Scratch memory of
// SortWorkspaceBytes(n) bytes, aligned to 256.
struct SortWorkspace {
  void* memory = nullptr;
  int64_t bytes = 0;
};

// What any of the functions below needs for n items.
ResultOr<int64_t> SortWorkspaceBytes(int64_t n);

// Stable sort by the first of each pair. Input and output do not overlap.
template <typename First>
struct SortedPairs {
  const First* firsts_in = nullptr;
  First* firsts_out = nullptr;
  const int32_t* seconds_in = nullptr;
  int32_t* seconds_out = nullptr;
  int64_t n = 0;
};
// By all 64 bits of the key, and by all 32 of the target: kSkippedPosition sorts last.
Result SortKeys(DeviceStream& stream, const SortWorkspace& workspace,
                const SortedPairs<Key>& pairs);
Result SortTargets(DeviceStream& stream, const SortWorkspace& workspace,
                   const SortedPairs<uint32_t>& pairs);

// sums[i] = counts[0] + ... + counts[i - 1]: where the items of i begin when all stand in a row.
struct ScannedCounts {
  const int32_t* counts = nullptr;
  int32_t* sums = nullptr;
  int64_t n = 0;
};
Result ScanCounts(DeviceStream& stream, const SortWorkspace& workspace,
                  const ScannedCounts& counts);

}  // namespace hotrow
