// TableCatalog: what the cold store keeps of the tables themselves, so that they are there again
// after a restart, and no id is used twice.
//
//   fact "table/7"    TableDescription of table 7: id, schema, highest step when it was last saved
//   fact "dropped/7"  table 7 was dropped; rows of it that are still there are to be removed
//
// Thread safety: one caller at a time. Ownership: the store outlives it. Errors: as ColdStore;
// kDataLoss for an entry that cannot be read.

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/shard/table_directory.h"
#include "server/tiers/cold_store.h"

namespace hotrow {

class TableCatalog {
 public:
  explicit TableCatalog(ColdStore& store) : store_(store) {}

  struct Table {
    uint32_t id = 0;
    v1::TableSchema schema;  // normalized
    uint64_t highest_step = 0;
  };
  struct Contents {
    std::vector<Table> tables;  // by id
    std::vector<uint32_t> dropped_ids;
  };

  // Finishes drops that were cut off.
  absl::StatusOr<Contents> Load();
  // Durable on return, like Drop.
  absl::Status Save(const TableEntry& entry, uint64_t highest_step);
  // The table's rows and its entry.
  absl::Status Drop(const TableEntry& entry);

 private:
  ColdStore& store_;
};

}  // namespace hotrow
