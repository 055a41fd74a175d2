#include "server/shard/strand_tables.h"

#include <utility>

namespace hotrow {

absl::Status StrandTables::Create(uint32_t id, const TableOptions& options) {
  auto table = Table::Create(options, budget_, workspace_);
  if (!table.ok()) return table.status();
  tables_[id] = *std::move(table);
  return absl::OkStatus();
}

std::unique_ptr<Table> StrandTables::Take(uint32_t id) {
  const auto found = tables_.find(id);
  if (found == tables_.end()) return nullptr;
  std::unique_ptr<Table> table = std::move(found->second);
  tables_.erase(found);
  return table;
}

}  // namespace hotrow
