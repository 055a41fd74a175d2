// Splits batches of unique keys over shards and partitions, and cuts them into messages and
// sub-pushes that respect the limits of the wire.
//
// Thread safety: pure functions. Bounds: a message stays within wire::kMaxPayloadBytes, header
// included, in both directions; a sub-push within kMaxSubPushBytes of payload.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/src/batch_workspace.h"
#include "kernels/base/key.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/shard_map.h"

namespace hotrow::client {

inline constexpr uint64_t kMaxSubPushBytes = uint64_t{2} << 20;

void GroupByShard(std::span<const Key> keys, uint64_t salt, const wire::ShardMap& map,
                  BatchWorkspace& workspace);
void GroupByPartition(std::span<const Key> keys, uint64_t salt, const wire::ShardMap& map,
                      BatchWorkspace& workspace);

// Consecutive keys of one table within its groups.order.
struct Segment {
  int32_t table = 0;  // index in the batch
  int32_t begin = 0;
  int32_t end = 0;

  uint32_t count() const { return static_cast<uint32_t>(end - begin); }
};

// One table of a batch, as far as routing needs it.
struct RoutedTable {
  const KeyGroups* groups = nullptr;
  int64_t dim = 0;  // 0: no rows travel
};

// The messages of a pull to `shard`, as segments; empty when it has none of the keys.
std::vector<std::vector<Segment>> CutPull(std::span<const RoutedTable> tables, uint32_t shard);

// Sub-pushes of `partition`, as segments. A table is at most once in each.
std::vector<std::vector<Segment>> CutSubPushes(std::span<const RoutedTable> tables,
                                               uint32_t partition);

// Upper bound of the bytes that a sub-push adds to a message: payload and header.
uint64_t SubPushMessageBytes(const wire::SubPush& sub_push);

}  // namespace hotrow::client
