// The commands of hotrowctl. Each prints its answer and returns why it could not.
//
// Thread safety: one thread. Errors: typed, as the client gives them.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/ctl/output.h"
#include "hotrow/client.h"

namespace hotrow::ctl {

struct Arguments {
  std::string address = "127.0.0.1:7070";
  std::string admin;  // empty: where each shard says
  int timeout_s = 5;
  Format format = Format::kTable;
  std::string table;
  std::vector<std::string> keys;
  bool watch = false;
  uint32_t shard = 0;
  uint32_t limit = 0;  // 0: all
  bool yes = false;
};

// A client that looks and does not push.
absl::StatusOr<std::shared_ptr<Client>> Connect(const Arguments& arguments);

// Unavailable, after all answers were printed, when a shard did not answer.
absl::Status ShowStatus(const Arguments& arguments);
absl::Status ShowTables(const Arguments& arguments);
// As ShowStatus; the sums are of the shards that answered, and say of how many. After all that is
// known was printed: DataLoss when a shard has lost its part of a table that others hold rows of,
// NotFound when one lacks an empty table, or all lack arguments.table.
absl::Status ShowStatistics(const Arguments& arguments);
absl::Status ShowRows(const Arguments& arguments);
// Admin calls (admin_shards.h). The first two: as ShowStatus for shards that do not answer.
absl::Status ShowShards(const Arguments& arguments);
absl::Status ShowSlowCalls(const Arguments& arguments);
absl::Status DrainShard(const Arguments& arguments);
absl::Status DropTable(const Arguments& arguments);  // InvalidArgument without `yes`

}  // namespace hotrow::ctl
