#include "server/shard/table_directory.h"

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
  error.hint =
      "the table was dropped (open it again if it was made anew), or the shard was restarted: "
      "create it again";
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

TableDirectory::TableDirectory(Options options) : options_(options), first_id_(RandomFirstId()) {}

TableDirectory::Entry TableDirectory::Find(uint32_t id) const {
  MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

TableDirectory::Entry TableDirectory::Find(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<TableDirectory::Entry> TableDirectory::List() const {
  std::vector<Entry> entries;
  MutexLock lock(mutex_);
  entries.reserve(by_name_.size());
  for (const auto& [name, entry] : by_name_) entries.push_back(entry);
  return entries;
}

absl::StatusOr<TableDirectory::Plan> TableDirectory::PlanCreation(
    const v1::CreateTableRequest& request) const {
  auto entry = std::make_shared<TableEntry>();
  entry->schema = NormalizedSchema(request.schema());
  const std::string& name = entry->schema.name();
  MutexLock lock(mutex_);
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    if (absl::Status status = CheckExisting(*found->second, request); !status.ok()) return status;
    return Plan{.entry = found->second, .exists = true};
  }
  entry->id = request.table_id();
  if (absl::Status status = CheckNewId(name, entry->id); !status.ok()) return status;
  if (entry->id == 0) entry->id = FreshId();
  if (absl::Status status = FillOptions(*entry); !status.ok()) return status;
  return Plan{.entry = std::move(entry), .exists = false};
}

absl::StatusOr<TableDirectory::Entry> TableDirectory::Restored(
    uint32_t id, const v1::TableSchema& schema) const {
  auto entry = std::make_shared<TableEntry>();
  entry->id = id;
  entry->schema = schema;
  if (absl::Status status = FillOptions(*entry); !status.ok()) return status;
  return entry;
}

absl::Status TableDirectory::FillOptions(TableEntry& entry) const {
  absl::StatusOr<TableOptions> options = TableOptions::FromSchema(entry.schema);
  if (!options.ok()) return options.status();
  entry.options = *std::move(options);
  entry.options.id = entry.id;
  entry.options.slots_per_set = options_.slots_per_set;
  entry.options.max_slots = options_.max_slots;
  return absl::OkStatus();
}

void TableDirectory::MarkUsed(uint32_t id) {
  MutexLock lock(mutex_);
  used_ids_.insert(id);
}

uint32_t TableDirectory::FreshId() const {
  uint32_t id = first_id_ + static_cast<uint32_t>(used_ids_.size());
  while (id == 0 || used_ids_.contains(id)) ++id;
  return id;
}

void TableDirectory::Publish(Entry entry) {
  MutexLock lock(mutex_);
  used_ids_.insert(entry->id);
  by_id_[entry->id] = entry;
  by_name_[entry->schema.name()] = std::move(entry);
}

TableDirectory::Entry TableDirectory::Remove(const std::string& name) {
  MutexLock lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  Entry entry = std::move(found->second);
  by_name_.erase(found);
  by_id_.erase(entry->id);
  return entry;
}

absl::Status TableDirectory::CheckExisting(const TableEntry& entry,
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

absl::Status TableDirectory::CheckNewId(const std::string& name, uint32_t id) const {
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

}  // namespace hotrow
