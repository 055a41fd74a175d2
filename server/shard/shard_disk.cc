// The life of a shard's rows beyond that of its process.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/shard/shard_impl.h"

namespace hotrow {

absl::Status Shard::Impl::RestoreTables() {
  if (!catalog) return absl::OkStatus();
  MutexLock lock(admin_mutex);
  const absl::StatusOr<TableCatalog::Contents> contents = catalog->Load();
  if (!contents.ok()) return contents.status();
  for (const uint32_t id : contents->dropped_ids) state.tables.MarkUsed(id);
  for (const TableCatalog::Table& table : contents->tables) {
    auto entry = state.tables.Restored(table.id, table.schema);
    if (!entry.ok()) return entry.status();
    if (absl::Status status = MakeTable(**entry, table.highest_step); !status.ok()) return status;
    state.tables.Publish(*std::move(entry));
  }
  return absl::OkStatus();
}

// On all strands, one after the other: they share one disk.
absl::Status Shard::Impl::SaveStrands() {
  for (const auto& unit : strands) {
    absl::Status status;
    const bool ran = unit->strand.Run([&] {
      status = unit->state.tables.Save();
      unit->state.partitions.ForEach([&](uint32_t number, Partition& partition) {
        state.store->SetLsn(number, partition.lsn());
      });
    });
    if (!ran) return Stopped();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Shard::Save() {
  Impl& impl = *impl_;
  if (!impl.catalog) return absl::OkStatus();
  MutexLock lock(impl.admin_mutex);
  absl::Status status = impl.SaveStrands();
  const std::vector<TableDirectory::Entry> entries = impl.state.tables.List();
  const std::vector<v1::TableStats> stats = impl.StatsOf(entries);
  for (size_t i = 0; i < entries.size() && status.ok(); ++i) {
    status = impl.catalog->Save(*entries[i], stats[i].highest_step());
  }
  if (status.ok()) status = impl.state.store->Close();
  return impl.Signed(status);
}

std::string Shard::recovery_note() const {
  const Impl& impl = *impl_;
  if (impl.state.store == nullptr || impl.state.store->was_closed()) return "";
  int64_t rows = 0;
  for (const TableDirectory::Entry& entry : impl.state.tables.List()) {
    for (uint32_t partition = 0; partition < impl.state.strand_map.partitions(); ++partition) {
      rows += impl.state.store->Rows(entry->id, partition);
    }
  }
  return fmt::format(
      "the process before this one did not end cleanly: {} tables are here with {} rows as they "
      "were last written to disk; what was pushed since then is lost",
      impl.state.tables.List().size(), rows);
}

}  // namespace hotrow
