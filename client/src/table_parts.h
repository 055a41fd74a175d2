// What all shards together know of one table.
//
// A shard that has lost its part of a table (it was restarted, or a drop stopped halfway) would
// answer initial values for rows that were stored: nobody may open such a table, and the part is
// made anew only while nothing is stored in the others.
//
// Thread safety: a value; Ask blocks its caller. Ownership: the core must outlive it. Errors: of a
// shard that does not answer, the first by number; those about a part name its shard.

#pragma once

#include <string>
#include <vector>

#include "client/src/client_core.h"
#include "hotrow/v1/table.pb.h"

namespace hotrow::client {

class TableParts {
 public:
  // Where parts seem to be lost it looks again, a bounded number of times: another worker may be
  // halfway through creating or dropping the table.
  static absl::StatusOr<TableParts> Ask(ClientCore& core, const std::string& name,
                                        TimePoint deadline);

  bool nowhere() const { return known() == 0; }
  // On every shard under one id.
  bool whole() const { return known() == parts_.size() && !crossed(); }
  // On some shards under different ids.
  bool crossed() const;
  bool on(uint32_t shard) const { return parts_[shard].known; }
  // The shard that the others are measured by: one that holds most. Not when nowhere.
  uint32_t holder() const;
  const v1::TableDescription& description() const { return parts_[holder()].table; }
  // Of all shards together. Not when nowhere.
  absl::StatusOr<TableInfo> Info() const;

  // DataLoss, naming the shard that lacks its part, while others hold rows or were pushed to.
  absl::Status CheckNothingLost() const;
  // OK when whole. NotFound without a shard when nowhere, naming one when nothing was stored yet.
  absl::Status CheckWhole() const;

 private:
  struct Part {
    bool known = false;
    v1::TableDescription table;
    uint64_t rows = 0;  // counted only when the table is neither whole nor nowhere
    uint64_t highest_step() const { return table.highest_step(); }
    bool used() const { return rows > 0 || highest_step() > 0; }
  };

  TableParts(ClientCore& core, std::string name) : core_(&core), name_(std::move(name)) {}
  static absl::StatusOr<TableParts> AskOnce(ClientCore& core, const std::string& name,
                                            TimePoint deadline);
  absl::Status AskRows(TimePoint deadline);
  size_t known() const;
  bool belongs(const Part& part) const;
  bool lost() const;
  uint32_t FirstLacking() const;
  absl::Status Lacking(wire::ErrorKind kind, std::string message, std::string hint) const;

  ClientCore* core_;
  std::string name_;
  std::vector<Part> parts_;  // (shards)
};

// NotFound of a table that no shard knows; `advice` is for those who opened or made it.
absl::Status NoSuchTable(const ClientCore& core, const std::string& name, std::string advice = {});

}  // namespace hotrow::client
