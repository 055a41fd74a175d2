// Unique keys of a batch, and sums of what belongs to equal keys.
//
// Thread safety: a Deduper or DuplicateSummer serves one thread at a time; it keeps its workspace
// between calls, so that a steady state allocates nothing. Ownership: results stay valid until the
// next call. Order: unique keys stand in the order of their first occurrence; sums run by the order
// rule of block_sums.h, which fixes the bits.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "kernels/base/position.h"
#include "kernels/dedupe/block_sums.h"
#include "kernels/space/host_space.h"

namespace hotrow {

class Deduper {
 public:
  // n < 2^31 keys. Keys equal to `skip` get kSkippedPosition and are not among the unique ones.
  void Run(std::span<const Key> keys, std::optional<Key> skip = std::nullopt);

  // (u) keys.
  std::span<const Key> unique() const { return {unique_.data(), static_cast<size_t>(count_)}; }
  // (n) index into unique(), or kSkippedPosition.
  std::span<const int32_t> inverse() const { return {inverse_.data(), static_cast<size_t>(n_)}; }
  // Of the workspace that is kept between calls.
  int64_t workspace_bytes() const {
    return static_cast<int64_t>(unique_.capacity() * sizeof(Key) +
                                (inverse_.capacity() + table_.capacity()) * sizeof(int32_t));
  }

 private:
  void StartTable(int64_t expected_unique);
  void DoubleTable();
  int32_t FindOrAdd(Key key, uint64_t hash);

  std::vector<Key> unique_;       // the first count_ are valid
  std::vector<int32_t> inverse_;  // the first n_ are valid
  // Open addressing with linear probing: index into unique_ or -1. Its first mask_ + 1 entries, a
  // power of two, are in use; at most half of them are taken.
  std::vector<int32_t> table_;
  uint64_t mask_ = 0;
  int64_t count_ = 0;
  int64_t n_ = 0;
};

// sums[inverse[i]] = sum over occurrences i of weights[i] x rows[source[i]], by the order rule.
//   inverse (n): target of each occurrence, kSkippedPosition to leave it out
//   source  (n): row of each occurrence, or empty: occurrence i has row i
//   weights (n): or empty: the rows as they are
// sums (unique_count, dim) is overwritten; targets without an occurrence get zeros. The rows must
// not overlap the sums.
struct SumInput {
  std::span<const int32_t> inverse;
  std::span<const int32_t> source;
  std::span<const float> weights;
  ConstRowsView rows;
  int64_t unique_count = 0;
};

class DuplicateSummer {
 public:
  // On the threads of a space or, without one, on the calling thread: the bits are the same.
  void Run(const HostSpace& space, const SumInput& input, float* sums);
  void Run(const SumInput& input, float* sums) { Run(HostSpace(), input, sums); }
  // Of the workspace that is kept between calls.
  int64_t workspace_bytes() const {
    int64_t bytes = 0;
    for (const BlockSums& blocks : blocks_) bytes += blocks.workspace_bytes();
    return bytes;
  }

 private:
  std::vector<BlockSums> blocks_;  // one a thread
};

}  // namespace hotrow
