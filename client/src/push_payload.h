// What a push sends of one table: unique keys and one row for each, grouped by partition, in memory
// that goes to gRPC without another copy.
//
// Thread safety: built by one thread, immutable afterwards. Errors: InvalidArgument when a summed
// gradient is not finite or above the table's bound, before anything is numbered.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/batch_router.h"
#include "client/src/table_state.h"
#include "proto/wire/payload.h"

namespace hotrow::client {

// The rows of one table as the caller gave them.
struct PushInput {
  std::shared_ptr<TableState> table;
  std::span<const Key> keys;    // (n)
  std::span<const float> rows;  // (n, dim), or empty for kRemove
  wire::Operation operation = wire::Operation::kPush;
};

struct PushPayload {
  std::vector<int32_t> starts;  // (partitions + 1) first key of each partition
  grpc::Slice keys;             // (u) keys
  grpc::Slice rows;             // (u, dim) float32, empty for kRemove
  int64_t dim = 0;              // 0 for kRemove

  int64_t bytes() const { return static_cast<int64_t>(keys.size() + rows.size()); }
  // Appends keys, then rows, of the keys [begin, end).
  void AppendPart(const Segment& segment, std::vector<grpc::Slice>& out) const;
};

// Sums gradients of equal keys (kPush) or keeps the last row of equal keys (kUpsert).
absl::StatusOr<PushPayload> BuildPushPayload(const PushInput& input, const wire::ShardMap& map,
                                             BatchWorkspace& workspace);

}  // namespace hotrow::client
