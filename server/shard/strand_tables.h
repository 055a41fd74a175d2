// StrandTables: the rows that a strand holds of each table of its shard.
//
// Thread safety: strand only. Ownership: owns the tables, the workspace that they share and the
// queue of rows on their way to disk; what the supply points to outlives it. Bounds: each table
// takes at least one granule of the memory budget a strand.

#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "kernels/base/memory_budget.h"
#include "server/table/table.h"

namespace hotrow {

class StrandTables {
 public:
  // `store` may be null: no cold tier. `supply.queue` is made here.
  StrandTables(TierSupply supply, const WriteBehindOptions& queue);

  // Null when there is none.
  Table* Find(uint32_t id) {
    const auto found = tables_.find(id);
    return found == tables_.end() ? nullptr : found->second.get();
  }
  const StrandHistograms& histograms() const { return workspace_.histograms; }
  // As Table::Create. options.id is new.
  absl::Status Create(const TableOptions& options);
  // Takes the table out, and what is queued of it. Its memory is freed with it: gigabytes take a
  // second to unmap, so whoever destroys it should not be the strand.
  std::unique_ptr<Table> Take(uint32_t id);
  // Writes what the memory tiers have to the cold store, and waits until it is there (not flushed).
  absl::Status Save();

 private:
  const std::unique_ptr<WriteBehind> queue_;  // null: no cold tier
  const TierSupply supply_;
  TableWorkspace workspace_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Table>> tables_;
};

}  // namespace hotrow
