// Control calls: tables and what shards say of themselves.
//
// Thread safety: pure functions over a core. Errors: of several shards, the first by shard number.
// The owner of partition 0 is the authority: it assigns table ids and knows every table.

#pragma once

#include <string>
#include <vector>

#include "client/src/client_core.h"

namespace hotrow::client {

// Idempotent with `exist_ok`: a call that failed half-way is completed by the next.
absl::StatusOr<TableInfo> CreateTable(ClientCore& core, const TableSchema& schema, bool exist_ok);
// Makes nothing: NotFound, naming the shard, for a table that is not on all shards.
absl::StatusOr<TableInfo> OpenTable(ClientCore& core, const std::string& name);
absl::StatusOr<std::vector<TableInfo>> ListTables(ClientCore& core);
// PermissionDenied, and nothing dropped, where a shard drops tables on its admin listener only.
absl::StatusOr<uint64_t> DropTable(ClientCore& core, const std::string& name);

std::vector<ShardStatus> AskStatus(ClientCore& core, const std::string& table);
absl::StatusOr<TableStatistics> SumStatistics(ClientCore& core, const std::string& table);

}  // namespace hotrow::client
