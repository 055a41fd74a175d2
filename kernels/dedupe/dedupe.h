// Unique keys of a batch, and sums of what belongs to equal keys.
//
// Thread safety: a Deduper serves one thread at a time; it keeps its workspace between calls, so
// that a steady state allocates nothing. Ownership: results stay valid until the next call. Order:
// unique keys stand in the order of their first occurrence; sums run in request order, in blocks of
// kSumBlock occurrences added one after the other, then the block sums in order. This fixes the
// bits.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "kernels/base/position.h"

namespace hotrow {

inline constexpr int64_t kSumBlock = 256;

class Deduper {
 public:
  // n < 2^31 keys. Keys equal to `skip` get kSkippedPosition and are not among the unique ones.
  void Run(std::span<const Key> keys, std::optional<Key> skip = std::nullopt);

  std::span<const Key> unique() const { return unique_; }  // (u)
  std::span<const int32_t> inverse() const {
    return inverse_;
  }  // (n) index into unique(), or kSkippedPosition

 private:
  std::vector<Key> unique_;
  std::vector<int32_t> inverse_;
  std::vector<int32_t>
      table_;  // open addressing, index into unique_ or -1; power of two, load <= 1/2
};

// sums[inverse[i]] = sum over occurrences i of weights[i] x rows[source[i]], by the order rule
// above.
//   inverse (n): target of each occurrence, kSkippedPosition to leave it out
//   source  (n): row of each occurrence, or empty: occurrence i has row i
//   weights (n): or empty: 1
// sums (unique_count, dim) is overwritten; targets without an occurrence get zeros. `scratch` keeps
// its memory.
struct SumInput {
  std::span<const int32_t> inverse;
  std::span<const int32_t> source;
  std::span<const float> weights;
  ConstRowsView rows;
  int64_t unique_count = 0;
};

class DuplicateSummer {
 public:
  void Run(const SumInput& input, float* sums);

 private:
  std::vector<int64_t> first_;  // (u + 1) start of each target's occurrences in order_
  std::vector<int32_t> order_;  // (n) occurrences grouped by target, request order within
  std::vector<float> block_;    // (dim) sum of the current block
};

}  // namespace hotrow
