#include "server/shard/strand_tables.h"

#include <chrono>
#include <utility>

namespace hotrow {
namespace {

// Of a queue that makes progress, at the end of a clean stop.
constexpr std::chrono::minutes kLongestDrain{2};

TierSupply With(TierSupply supply, WriteBehind* queue) {
  supply.queue = queue;
  return supply;
}

}  // namespace

StrandTables::StrandTables(TierSupply supply, const WriteBehindOptions& queue)
    : queue_(supply.store == nullptr ? nullptr
                                     : std::make_unique<WriteBehind>(*supply.store, queue)),
      supply_(With(std::move(supply), queue_.get())) {}

absl::Status StrandTables::Create(const TableOptions& options) {
  auto table = Table::Create(options, supply_, workspace_);
  if (!table.ok()) return table.status();
  tables_[options.id] = *std::move(table);
  return absl::OkStatus();
}

std::unique_ptr<Table> StrandTables::Take(uint32_t id) {
  const auto found = tables_.find(id);
  if (found == tables_.end()) return nullptr;
  std::unique_ptr<Table> table = std::move(found->second);
  tables_.erase(found);
  if (queue_ != nullptr) queue_->Forget(id);
  return table;
}

absl::Status StrandTables::Save() {
  if (queue_ == nullptr) return absl::OkStatus();
  for (const auto& [id, table] : tables_) {
    if (absl::Status status = table->tiers().WriteBackAll(); !status.ok()) return status;
  }
  return queue_->Drain(kLongestDrain);
}

}  // namespace hotrow
