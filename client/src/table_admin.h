// Control calls: tables and what shards say of themselves.
//
// Thread safety: pure functions over a core. Errors: of several shards, the first by shard number.
// All but AskStatus wait for shards that are away, as a pull does (see await_shards.h).
// The owner of partition 0 is the authority: it assigns table ids. Like every shard it may have
// forgotten tables, so that all are asked what there is.

#pragma once

#include <string>
#include <vector>

#include "client/src/client_core.h"

namespace hotrow::client {

// Idempotent with `exist_ok`: a call that failed half-way is completed by the next. What is refused
// is refused before anything is made, but for want of room on one shard: DataLoss where a shard has
// lost its part of a table that others hold rows of, AlreadyExists where workers that drop and
// create it keep crossing.
absl::StatusOr<TableInfo> CreateTable(ClientCore& core, const TableSchema& schema, bool exist_ok);
// Makes nothing. NotFound without a shard when none has the table; naming one when a shard lacks
// it, and DataLoss then when others hold rows of it.
absl::StatusOr<TableInfo> OpenTable(ClientCore& core, const std::string& name);
// By name, those included that some shards have lost their part of: opening one says so. A tool is
// told what the shards that answer know, and the error when none does.
absl::StatusOr<std::vector<TableInfo>> ListTables(ClientCore& core);
// Rows that were stored; NotFound when no shard had the table: one that some have forgotten is
// dropped on the others. PermissionDenied, and nothing dropped, where a shard drops tables on its
// admin listener only.
absl::StatusOr<uint64_t> DropTable(ClientCore& core, const std::string& name);

// Adds what one shard counts of a table: sums, and of the steps the highest.
void Add(const TableStatistics& shard, TableStatistics& sum);
std::vector<ShardStatus> AskStatus(ClientCore& core, const std::string& table);
absl::StatusOr<TableStatistics> SumStatistics(ClientCore& core, const std::string& table);

}  // namespace hotrow::client
