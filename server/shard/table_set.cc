#include "server/shard/table_set.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "hotrow/v1/admin_service.pb.h"
#include "proto/wire/status_codec.h"
#include "server/table/schema_difference.h"

namespace hotrow {
namespace {

uint32_t RandomFirstId() {
  std::random_device device;
  return std::uniform_int_distribution<uint32_t>(1, uint32_t{1} << 31)(device);
}

absl::Status Error(wire::ErrorKind kind, const std::string& table, std::string message,
                   std::string hint) {
  wire::ErrorInfo error;
  error.kind = kind;
  error.message = fmt::format("table '{}': {}", table, message);
  error.hint = std::move(hint);
  error.table = table;
  return wire::ToStatus(error);
}

}  // namespace

wire::ErrorInfo NoSuchTable(uint32_t id) {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kNotFound;
  error.message = fmt::format("this shard has no table with id {}", id);
  error.hint = "the table was dropped, or the shard was restarted: create it again";
  return error;
}

wire::ErrorInfo NoSuchTable(const std::string& name) {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kNotFound;
  error.message = fmt::format("this shard has no table '{}'", name);
  error.hint = "create the table first";
  error.table = name;
  return error;
}

v1::TableDescription TableEntry::Describe() const {
  v1::TableDescription description;
  description.set_table_id(id);
  *description.mutable_schema() = schema;
  description.set_row_bytes(static_cast<uint32_t>(table->layout().row_bytes));
  description.set_highest_step(table->counters().highest_step);
  return description;
}

void TableEntry::FillStats(v1::TableStats* stats) const {
  const TableCounters& counters = table->counters();
  stats->set_table_id(id);
  stats->set_name(schema.name());
  stats->set_rows(table->rows());
  stats->set_used_bytes(table->rows() * table->layout().row_bytes);
  stats->set_allocated_bytes(table->allocated_bytes());
  stats->set_rows_pulled(counters.rows_pulled);
  stats->set_rows_pulled_initial(counters.rows_pulled_initial);
  stats->set_rows_pushed(counters.rows_pushed);
  stats->set_rows_created(counters.rows_created);
  stats->set_rows_refused(counters.rows_refused);
  stats->set_gradients_refused(counters.gradients_refused);
  stats->set_highest_step(counters.highest_step);
}

TableSet::TableSet(Options options, MemoryBudget& budget)
    : options_(options), budget_(budget), next_id_(RandomFirstId()) {}

Table* TableSet::Find(uint32_t id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second->table.get();
}

const TableEntry* TableSet::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

absl::StatusOr<v1::CreateTableResponse> TableSet::Create(const v1::CreateTableRequest& request) {
  const v1::TableSchema schema = NormalizedSchema(request.schema());
  v1::CreateTableResponse response;
  if (const TableEntry* entry = Find(schema.name()); entry != nullptr) {
    if (absl::Status status = CheckExisting(*entry, request); !status.ok()) return status;
    *response.mutable_table() = entry->Describe();
    return response;
  }
  uint32_t id = request.table_id();
  if (absl::Status status = CheckNewId(schema.name(), id); !status.ok()) return status;
  if (id == 0) id = FreshId();
  auto entry = Add(id, schema);
  if (!entry.ok()) return entry.status();
  response.set_created(true);
  *response.mutable_table() = (*entry)->Describe();
  return response;
}

uint32_t TableSet::FreshId() {
  while (next_id_ == 0 || used_ids_.contains(next_id_)) ++next_id_;
  return next_id_;
}

absl::Status TableSet::CheckExisting(const TableEntry& entry,
                                     const v1::CreateTableRequest& request) const {
  const std::string& name = entry.schema.name();
  const auto difference = FirstDifference(entry.schema, NormalizedSchema(request.schema()));
  if (difference) {
    return Error(wire::ErrorKind::kSchemaMismatch, name,
                 fmt::format("it exists with {} = {}, not {}", difference->field,
                             difference->of_first, difference->of_second),
                 "use the existing schema, another name, or drop the table first");
  }
  if (request.table_id() != 0 && request.table_id() != entry.id) {
    return Error(wire::ErrorKind::kSchemaMismatch, name,
                 fmt::format("it exists here with id {}, not {}", entry.id, request.table_id()),
                 "shard 0 was restarted and has forgotten the table while this shard has not: "
                 "drop the table on all shards, or restart them all, then create it again");
  }
  // With the id given this is the same creation, told again.
  if (request.exist_ok() || request.table_id() == entry.id) return absl::OkStatus();
  return Error(wire::ErrorKind::kAlreadyExists, name, "it exists",
               "open it, or create it with exist_ok");
}

absl::Status TableSet::CheckNewId(const std::string& name, uint32_t id) const {
  if (id == 0 && !options_.assigns_ids) {
    return Error(wire::ErrorKind::kInvalidArgument, name, "this shard does not assign table ids",
                 "create the table on the owner of partition 0 first, then here with its id");
  }
  if (id != 0 && used_ids_.contains(id)) {
    const auto other = by_id_.find(id);
    const std::string user =
        other == by_id_.end() ? "a dropped table" : "'" + other->second->schema.name() + "'";
    return Error(wire::ErrorKind::kAlreadyExists, name,
                 fmt::format("id {} belongs to {}; ids are never reused", id, user),
                 "create the table on the owner of partition 0 first, then here with its id");
  }
  if (by_name_.size() < kMaxTables) return absl::OkStatus();
  return Error(wire::ErrorKind::kCapacityFull, name,
               fmt::format("this shard has its {} tables", kMaxTables), "drop a table");
}

absl::StatusOr<TableEntry*> TableSet::Add(uint32_t id, const v1::TableSchema& schema) {
  auto options = TableOptions::FromSchema(schema);
  if (!options.ok()) return options.status();
  options->slots_per_set = options_.slots_per_set;
  auto table = Table::Create(*std::move(options), budget_, workspace_);
  if (!table.ok()) return table.status();
  TableEntry& entry = by_name_[schema.name()];
  entry = {id, schema, *std::move(table)};
  by_id_[id] = &entry;
  used_ids_.insert(id);
  return &entry;
}

absl::StatusOr<std::unique_ptr<Table>> TableSet::Drop(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return wire::ToStatus(NoSuchTable(name));
  std::unique_ptr<Table> table = std::move(found->second.table);
  by_id_.erase(found->second.id);
  by_name_.erase(found);
  return table;
}

}  // namespace hotrow
