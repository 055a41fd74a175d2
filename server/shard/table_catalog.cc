#include "server/shard/table_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include "proto/wire/status_codec.h"

namespace hotrow {
namespace {

constexpr char kTable[] = "table/";
constexpr char kDropped[] = "dropped/";

std::string FactOf(const char* kind, uint32_t id) { return fmt::format("{}{}", kind, id); }

absl::StatusOr<uint32_t> IdOf(const std::string& fact, size_t prefix) {
  uint32_t id = 0;
  const char* const end = fact.data() + fact.size();
  const auto parsed = std::from_chars(fact.data() + prefix, end, id);
  if (parsed.ec == std::errc() && parsed.ptr == end && id != 0) return id;
  return wire::MakeError(wire::ErrorKind::kDataLoss,
                         fmt::format("the list of tables on disk has an entry '{}'", fact));
}

absl::StatusOr<TableCatalog::Table> Parse(uint32_t id, const std::string& text) {
  v1::TableDescription description;
  if (description.ParseFromString(text) && description.table_id() == id) {
    return TableCatalog::Table{id, description.schema(), description.highest_step()};
  }
  return wire::MakeError(wire::ErrorKind::kDataLoss,
                         fmt::format("the entry of table {} on disk cannot be read", id));
}

}  // namespace

absl::StatusOr<TableCatalog::Contents> TableCatalog::Load() {
  Contents contents;
  const auto dropped = store_.Facts(kDropped);
  if (!dropped.ok()) return dropped.status();
  for (const auto& [fact, text] : *dropped) {
    const absl::StatusOr<uint32_t> id = IdOf(fact, sizeof(kDropped) - 1);
    if (!id.ok()) return id.status();
    contents.dropped_ids.push_back(*id);
  }
  const auto tables = store_.Facts(kTable);
  if (!tables.ok()) return tables.status();
  for (const auto& [fact, text] : *tables) {
    const absl::StatusOr<uint32_t> id = IdOf(fact, sizeof(kTable) - 1);
    if (!id.ok()) return id.status();
    if (dropped->contains(FactOf(kDropped, *id))) {
      absl::Status status = store_.DropTable({.id = *id, .name = fact});
      if (status.ok()) status = store_.RemoveFact(fact);
      if (!status.ok()) return status;
      continue;
    }
    absl::StatusOr<Table> table = Parse(*id, text);
    if (!table.ok()) return table.status();
    contents.tables.push_back(*std::move(table));
  }
  std::sort(contents.tables.begin(), contents.tables.end(),
            [](const Table& a, const Table& b) { return a.id < b.id; });
  return contents;
}

absl::Status TableCatalog::Save(const TableEntry& entry, uint64_t highest_step) {
  v1::TableDescription description;
  description.set_table_id(entry.id);
  *description.mutable_schema() = entry.schema;
  description.set_highest_step(highest_step);
  return store_.PutFact(FactOf(kTable, entry.id), description.SerializeAsString());
}

absl::Status TableCatalog::Drop(const TableEntry& entry) {
  absl::Status status = store_.PutFact(FactOf(kDropped, entry.id), "");
  if (status.ok()) status = store_.DropTable(entry.options.cold_table());
  if (status.ok()) status = store_.RemoveFact(FactOf(kTable, entry.id));
  return status;
}

}  // namespace hotrow
