// PulledBatch: the unique rows of one pull, where they were received.
//
// Thread safety: immutable. Ownership: owns the received buffers; all views are valid while it
// lives.

#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"

namespace hotrow {

class PulledBatch {
 public:
  virtual ~PulledBatch() = default;
  virtual std::span<const Key> keys() const = 0;  // (u) unique keys, in order of first occurrence
  virtual std::span<const int32_t> positions()
      const = 0;  // (n) row of each asked key, kSkippedPosition for skipped ones
  // Of the unique keys: how many are not stored and answered their initial value.
  virtual int64_t initial_rows() const = 0;
  virtual ConstRowsView rows() const = 0;  // (u) rows, dim floats each, may be unaligned
};

}  // namespace hotrow
