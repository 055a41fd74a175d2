// The sorts and the scan of dedupe/device_sort.h for the recording device.

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/dedupe/device_sort.h"
#include "tests/kernels/recording_device.h"

namespace hotrow {
namespace {

Result Note(DeviceStream& stream, const char* what, int64_t n, const SortWorkspace& workspace) {
  if (workspace.bytes < *SortWorkspaceBytes(n)) {
    return {Code::kInvalidArgument, "the workspace of a sort is too small"};
  }
  return static_cast<testing::RecordingStream&>(stream).Note(what, n);
}

template <typename First>
void Sort(const SortedPairs<First>& pairs) {
  std::vector<int64_t> order(static_cast<size_t>(pairs.n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return pairs.firsts_in[a] < pairs.firsts_in[b]; });
  for (int64_t j = 0; j < pairs.n; ++j) {
    pairs.firsts_out[j] = pairs.firsts_in[order[static_cast<size_t>(j)]];
    pairs.seconds_out[j] = pairs.seconds_in[order[static_cast<size_t>(j)]];
  }
}

}  // namespace

ResultOr<int64_t> SortWorkspaceBytes(int64_t n) { return n; }

Result SortKeys(DeviceStream& stream, const SortWorkspace& workspace,
                const SortedPairs<Key>& pairs) {
  const Result noted = Note(stream, "sort", pairs.n, workspace);
  if (noted.ok()) Sort(pairs);
  return noted;
}

Result SortTargets(DeviceStream& stream, const SortWorkspace& workspace,
                   const SortedPairs<uint32_t>& pairs) {
  const Result noted = Note(stream, "sort", pairs.n, workspace);
  if (noted.ok()) Sort(pairs);
  return noted;
}

Result ScanCounts(DeviceStream& stream, const SortWorkspace& workspace,
                  const ScannedCounts& counts) {
  const Result noted = Note(stream, "scan", counts.n, workspace);
  if (noted.ok()) {
    std::exclusive_scan(counts.counts, counts.counts + counts.n, counts.sums, 0);
  }
  return noted;
}

}  // namespace hotrow
