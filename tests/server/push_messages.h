// Frozen sub-pushes and the messages that carry them, for tests that play the client.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "proto/wire/batch_codec.h"
#include "proto/wire/hashes.h"
#include "proto/wire/shard_map.h"

namespace hotrow::test {

// One table's share of a push.
struct TablePart {
  uint32_t table_id = 0;
  std::vector<Key> keys;
  std::vector<float> rows;  // (keys, dim)
  uint32_t dim = 0;
  uint64_t step = 1;
  float learning_rate = 1.0F;
};

// A numbered sub-push with its bytes.
struct FrozenSubPush {
  wire::SubPush header;
  std::vector<std::byte> bytes;
};

FrozenSubPush Freeze(uint32_t partition, uint64_t sequence, wire::Operation operation,
                     const std::vector<TablePart>& tables);

// The message, its payload received in slices of `slice_bytes` (0: one slice).
wire::PushRequest Message(uint64_t session, const std::vector<FrozenSubPush>& sub_pushes,
                          size_t slice_bytes = 0);

// Bytes as a payload, in slices of `slice_bytes` (0: one slice).
wire::Payload Sliced(const std::vector<std::byte>& bytes, size_t slice_bytes = 0);

wire::PullRequest PullMessage(uint32_t table_id, const std::vector<Key>& keys,
                              size_t slice_bytes = 0);

// Cuts a push of a table by partition, in the order of its keys. `salt` is the table's.
std::map<uint32_t, TablePart> ByPartition(const TablePart& part, const wire::ShardMap& map,
                                          uint64_t salt);

}  // namespace hotrow::test
