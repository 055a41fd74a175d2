// RowsAhead: requests the rows of a batch's later occurrences while the earlier ones are in work.
//
// A class and not a lambda: GCC takes a call that only prefetches for one without effects and drops
// it, unless it was told to inline it (space/prefetch.h). That halved a walk over bags.
//
// Thread safety: a value. Ownership: nothing. Host only. Hints: they change no result.

#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/pooling/pool_bag.h"
#include "kernels/space/prefetch.h"

namespace hotrow {

class RowsAhead {
 public:
  // `pool` outlives this.
  explicit RowsAhead(const PoolView& pool)
      : pool(pool), bytes_(std::min(pool.dim * int64_t{4}, kAheadBytes)) {}

  // Before the walk that begins at occurrence `first`.
  HOTROW_PREFETCH_INLINE void Start(int64_t first) const {
    for (int64_t i = first; i < first + kAhead; ++i) Request(i);
  }
  // At each occurrence.
  HOTROW_PREFETCH_INLINE void operator()(int64_t i) const { Request(i + kAhead); }

  const PoolView& pool;

 private:
  // Occurrences whose rows are requested ahead of the one in work, and the bytes of a row that are:
  // the hardware follows a longer row by itself (bench/kernel_bench.cc).
  static constexpr int64_t kAhead = 16;
  static constexpr int64_t kAheadBytes = 512;

  HOTROW_PREFETCH_INLINE void Request(int64_t i) const {
    if (i < pool.n && pool.positions[i] != kSkippedPosition) {
      PrefetchToRead(pool.rows[pool.positions[i]], bytes_);
    }
  }

  const int64_t bytes_;
};

}  // namespace hotrow
