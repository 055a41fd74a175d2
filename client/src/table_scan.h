// Reads every stored row of a table, shard after shard.
//
// Thread safety: a pure function over a core; `visit` runs on the caller's thread. Bounds: one
// received message and one batch of copied rows at a time. Errors: the first, naming the shard;
// batches before it have been visited.

#pragma once

#include "client/src/client_core.h"

namespace hotrow::client {

struct ScanOptions {
  uint32_t table_id = 0;
  uint32_t batch_rows = 0;
  bool with_state = false;
};

absl::Status ScanTable(ClientCore& core, const ScanOptions& options, const Table::Visitor& visit);

}  // namespace hotrow::client
