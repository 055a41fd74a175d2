// TableSet: the tables of a shard, by id and by name.
//
// Ids are assigned by the owner of partition 0 and told to the other shards by the client. In this
// version nothing survives a restart, so the first id of a process life is drawn at random from
// 1 .. 2^31: two lives that create T tables together share an id with a probability below T / 2^31.
// From there ids count up and are not used again.
//
// Thread safety: strand only. Bounds: kMaxTables tables; each takes at least one granule of the
// memory budget; one word is kept for each table that was ever created in this process life.
// Errors: typed, with the table's name and a hint.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hotrow/v1/table.pb.h"
#include "kernels/base/memory_budget.h"
#include "server/table/table.h"

namespace hotrow::v1 {
class CreateTableRequest;
class CreateTableResponse;
}  // namespace hotrow::v1

namespace hotrow {

struct TableEntry {
  uint32_t id = 0;
  v1::TableSchema schema;  // normalized
  std::unique_ptr<Table> table;

  v1::TableDescription Describe() const;
  void FillStats(v1::TableStats* stats) const;
};

class TableSet {
 public:
  static constexpr size_t kMaxTables = 4096;

  struct Options {
    bool assigns_ids = false;  // this shard owns partition 0
    int slots_per_set = 32;
  };

  TableSet(Options options, MemoryBudget& budget);

  // nullptr when there is none.
  Table* Find(uint32_t id);
  const TableEntry* Find(const std::string& name) const;
  const std::map<std::string, TableEntry>& by_name() const { return by_name_; }

  absl::StatusOr<v1::CreateTableResponse> Create(const v1::CreateTableRequest& request);
  // Takes the table out. Its memory is freed with it: gigabytes take a second to unmap, so whoever
  // destroys it should not be the strand.
  absl::StatusOr<std::unique_ptr<Table>> Drop(const std::string& name);

 private:
  absl::Status CheckExisting(const TableEntry& entry, const v1::CreateTableRequest& request) const;
  absl::Status CheckNewId(const std::string& name, uint32_t id) const;
  uint32_t FreshId();
  absl::StatusOr<TableEntry*> Add(uint32_t id, const v1::TableSchema& schema);

  const Options options_;
  MemoryBudget& budget_;
  TableWorkspace workspace_;
  std::map<std::string, TableEntry> by_name_;
  absl::flat_hash_map<uint32_t, TableEntry*> by_id_;
  absl::flat_hash_set<uint32_t> used_ids_;  // of this process life, dropped tables included
  uint32_t next_id_;
};

// kNotFound for a table that this shard lacks.
wire::ErrorInfo NoSuchTable(uint32_t id);
wire::ErrorInfo NoSuchTable(const std::string& name);

}  // namespace hotrow
