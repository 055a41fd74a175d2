// StrandTables: the rows that a strand holds of each table of its shard.
//
// Thread safety: strand only. Ownership: owns the tables and the workspace that they share; the
// budget outlives it. Bounds: each table takes at least one granule of the memory budget a strand.

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
  explicit StrandTables(MemoryBudget& budget) : budget_(budget) {}

  // Null when there is none.
  Table* Find(uint32_t id) {
    const auto found = tables_.find(id);
    return found == tables_.end() ? nullptr : found->second.get();
  }
  const StrandHistograms& histograms() const { return workspace_.histograms; }
  // As Table::Create. `id` is new.
  absl::Status Create(uint32_t id, const TableOptions& options);
  // Takes the table out. Its memory is freed with it: gigabytes take a second to unmap, so whoever
  // destroys it should not be the strand.
  std::unique_ptr<Table> Take(uint32_t id);

 private:
  MemoryBudget& budget_;
  TableWorkspace workspace_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Table>> tables_;
};

}  // namespace hotrow
