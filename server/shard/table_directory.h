// TableDirectory: which tables a shard has, by id and by name. Their rows are with the strands
// (StrandTables).
//
// Ids are assigned by the owner of partition 0 and told to the other shards by the client. Without
// a cold tier nothing survives a restart, so the first id of a process life is drawn at random from
// 1 .. 2^31: two lives that create T tables together share an id with a probability below T / 2^31.
// From there ids count up and are not used again; those that a cold tier remembers never are.
//
// Thread safety: every method, from any thread; whoever plans and publishes, or removes, does so
// under one lock of its own. Ownership: an entry lives as long as somebody uses it, also after its
// table was dropped. Bounds: kMaxTables tables; one word is kept for each table that was ever
// created in this process life. Errors: typed, with the table's name and a hint.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hotrow/v1/table.pb.h"
#include "kernels/base/mutex.h"
#include "proto/wire/batch_codec.h"
#include "server/table/table_options.h"

namespace hotrow::v1 {
class CreateTableRequest;
}

namespace hotrow {

struct TableEntry {
  uint32_t id = 0;
  v1::TableSchema schema;  // normalized
  TableOptions options;
};

class TableDirectory {
 public:
  static constexpr size_t kMaxTables = 4096;
  using Entry = std::shared_ptr<const TableEntry>;  // shared with requests that are under way

  struct Options {
    bool assigns_ids = false;  // this shard owns partition 0
    int slots_per_set = 32;
    int64_t max_slots = 0;  // as TableOptions
  };
  explicit TableDirectory(Options options);

  // Null when there is none.
  Entry Find(uint32_t id) const;
  Entry Find(const std::string& name) const;
  std::vector<Entry> List() const;  // by name

  // What a request to create a table comes to: the table that is there, or one to be made and then
  // published.
  struct Plan {
    Entry entry;
    bool exists = false;
  };
  absl::StatusOr<Plan> PlanCreation(const v1::CreateTableRequest& request) const;
  // A table that is there from an earlier process life, to be published. Errors as
  // TableOptions::FromSchema.
  absl::StatusOr<Entry> Restored(uint32_t id, const v1::TableSchema& schema) const;
  void Publish(Entry entry);
  // An id that no table may get any more.
  void MarkUsed(uint32_t id);
  // Null when there is none.
  Entry Remove(const std::string& name);

 private:
  absl::Status FillOptions(TableEntry& entry) const;
  absl::Status CheckExisting(const TableEntry& entry, const v1::CreateTableRequest& request) const;
  absl::Status CheckNewId(const std::string& name, uint32_t id) const HOTROW_REQUIRES(mutex_);
  uint32_t FreshId() const HOTROW_REQUIRES(mutex_);

  const Options options_;
  const uint32_t first_id_;

  mutable Mutex mutex_;
  std::map<std::string, Entry> by_name_ HOTROW_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint32_t, Entry> by_id_ HOTROW_GUARDED_BY(mutex_);
  // Of this process life, dropped tables included.
  absl::flat_hash_set<uint32_t> used_ids_ HOTROW_GUARDED_BY(mutex_);
};

// kNotFound for a table that this shard lacks.
wire::ErrorInfo NoSuchTable(uint32_t id);
wire::ErrorInfo NoSuchTable(const std::string& name);

}  // namespace hotrow
