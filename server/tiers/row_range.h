// RowRange: a walk over the rows of a tier.
//
// Thread safety: one thread at a time. Ownership: the tier outlives it. Errors: as Tier.

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/row_store/row_block.h"

namespace hotrow {

class RowRange {
 public:
  virtual ~RowRange() = default;
  // Appends up to `limit` rows to *rows. Fewer only at the end.
  virtual absl::Status Next(int64_t limit, RowBlock* rows) = 0;
};

}  // namespace hotrow
