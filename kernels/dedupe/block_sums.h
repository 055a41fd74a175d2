// BlockSums: sums of rows that arrive one by one for many targets, in an order that fixes the bits.
//
//   The addends of a target are taken in order of arrival and cut into blocks of kSumBlock. A block
//   is its first addend, plus the second, plus the third ...; the sum is the first block, plus the
//   second ...  A single addend is therefore its own sum, bit for bit, and the result depends on
//   nothing but the target's own addends: not on the batch, the shard or the thread around them.
//
// Sums of at most one block grow in place. Only the targets that get more (at most addends /
// kSumBlock of them) need a block beside their sum.
//
// Thread safety: one thread at a time. Ownership: borrows `sums` from Start to Finish.
// Shapes: sums (targets, dim). Bounds: 8 bytes a target and one row per 256 addends of memory,
// kept between uses.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/space/independent_loop.h"

namespace hotrow {

inline constexpr int64_t kSumBlock = 256;

class BlockSums {
 public:
  // Begins (targets, dim) sums of at most `addends` addends in all. What `sums` holds is ignored.
  void Start(float* sums, int64_t targets, int64_t dim, int64_t addends);

  // Adds a row to a target, 0 <= target < targets; row(c) is its value in column c.
  template <typename Row>
  void Add(int32_t target, const Row& row);

  // Completes the sums; a target without addends gets zeros.
  void Finish();

  // Of the memory that is kept between uses.
  int64_t workspace_bytes() const {
    return static_cast<int64_t>((seen_.capacity() + later_block_.capacity()) * sizeof(int32_t) +
                                blocks_.capacity() * sizeof(float));
  }

 private:
  // Block for the addend number `seen` >= kSumBlock of a target.
  float* LaterBlock(int32_t target, int32_t seen);

  float* sums_ = nullptr;
  int64_t dim_ = 0;
  std::vector<int32_t> seen_;         // (targets) addends so far
  std::vector<int32_t> later_block_;  // (targets) index into blocks_, once there is one
  std::vector<float> blocks_;         // (blocks, dim) current block of targets with several
  int32_t block_count_ = 0;
};

template <typename Row>
inline void BlockSums::Add(int32_t target, const Row& row) {
  const int32_t seen = seen_[static_cast<size_t>(target)]++;
  float* to = seen < kSumBlock ? sums_ + target * dim_ : LaterBlock(target, seen);
  if (seen % kSumBlock == 0) {
    HOTROW_INDEPENDENT_LOOP
    for (int64_t c = 0; c < dim_; ++c) to[c] = row(c);
  } else {
    HOTROW_INDEPENDENT_LOOP
    for (int64_t c = 0; c < dim_; ++c) to[c] += row(c);
  }
}

}  // namespace hotrow
