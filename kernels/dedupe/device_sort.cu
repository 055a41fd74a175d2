#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/dedupe/device_sort.h"

namespace hotrow {
namespace {

Result FromCuda(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {Code::kInternal, cudaGetErrorString(error)};
}

cudaStream_t Handle(const DeviceStream& stream) {
  return static_cast<cudaStream_t>(stream.handle());
}

template <typename First>
cudaError_t Sort(void* memory, size_t* bytes, const SortedPairs<First>& pairs,
                 cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(memory, *bytes, pairs.firsts_in, pairs.firsts_out,
                                         pairs.seconds_in, pairs.seconds_out,
                                         static_cast<int>(pairs.n), 0, 8 * sizeof(First), stream);
}

cudaError_t Scan(void* memory, size_t* bytes, const ScannedCounts& counts, cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveSum(memory, *bytes, counts.counts, counts.sums,
                                       static_cast<int>(counts.n), stream);
}

// Calls run(memory, &bytes) for the bytes that it wants, then for the work.
template <typename Run>
Result InWorkspace(const SortWorkspace& workspace, const Run& run) {
  size_t wanted = 0;
  const Result asked = FromCuda(run(nullptr, &wanted));
  if (!asked.ok()) return asked;
  if (workspace.bytes < static_cast<int64_t>(wanted)) {
    return Result(Code::kInvalidArgument, "the workspace of a sort is too small");
  }
  return FromCuda(run(workspace.memory, &wanted));
}

}  // namespace

ResultOr<int64_t> SortWorkspaceBytes(int64_t n) {
  size_t keys = 0;
  size_t targets = 0;
  size_t scan = 0;
  SortedPairs<Key> key_pairs;
  key_pairs.n = n;
  SortedPairs<uint32_t> target_pairs;
  target_pairs.n = n;
  for (const cudaError_t error :
       {Sort(nullptr, &keys, key_pairs, nullptr), Sort(nullptr, &targets, target_pairs, nullptr),
        Scan(nullptr, &scan, {nullptr, nullptr, n}, nullptr)}) {
    if (error != cudaSuccess) return FromCuda(error);
  }
  return static_cast<int64_t>(std::max({keys, targets, scan}));
}

Result SortKeys(DeviceStream& stream, const SortWorkspace& workspace,
                const SortedPairs<Key>& pairs) {
  return InWorkspace(workspace, [&](void* memory, size_t* bytes) {
    return Sort(memory, bytes, pairs, Handle(stream));
  });
}

Result SortTargets(DeviceStream& stream, const SortWorkspace& workspace,
                   const SortedPairs<uint32_t>& pairs) {
  return InWorkspace(workspace, [&](void* memory, size_t* bytes) {
    return Sort(memory, bytes, pairs, Handle(stream));
  });
}

Result ScanCounts(DeviceStream& stream, const SortWorkspace& workspace,
                  const ScannedCounts& counts) {
  return InWorkspace(workspace, [&](void* memory, size_t* bytes) {
    return Scan(memory, bytes, counts, Handle(stream));
  });
}

}  // namespace hotrow
