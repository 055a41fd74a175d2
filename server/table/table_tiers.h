// The tiers of a table on one strand, made from what its shard has.
//
// Thread safety: MakeTiers on the strand, or before it runs.

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/memory_budget.h"
#include "server/table/table_options.h"
#include "server/tiers/cold_store.h"
#include "server/tiers/tier_stack.h"
#include "server/tiers/write_behind.h"

namespace hotrow {

// What the tables of a strand draw from. Everything outlives them.
struct TierSupply {
  MemoryBudget& hot;
  MemoryBudget* warm = nullptr;           // null: no warm tier
  ColdStore* store = nullptr;             // null: no cold tier
  WriteBehind* queue = nullptr;           // of the strand, with `store`
  int partition_bits = 0;                 // with `store`
  std::vector<uint32_t> partitions = {};  // of the strand, with `store`

  bool has_lower_tier() const { return warm != nullptr || store != nullptr; }
};

// kCapacityFull when a budget has no room, or the process no address space, for the smallest store;
// the hint says which.
absl::StatusOr<TierParts> MakeTiers(const TableOptions& options, const TierSupply& supply);

}  // namespace hotrow
