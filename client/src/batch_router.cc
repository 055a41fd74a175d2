#include "client/src/batch_router.h"

#include <algorithm>
#include <numeric>

namespace hotrow::client {
namespace {

uint64_t RowBytes(const RoutedTable& table) { return static_cast<uint64_t>(table.dim) * 4; }

// Stable counting sort by group_of_key.
void Group(size_t groups, BatchWorkspace& workspace) {
  const std::vector<uint16_t>& group_of_key = workspace.group_of_key;
  std::vector<int32_t>& starts = workspace.groups.starts;
  starts.assign(groups + 1, 0);
  for (const uint16_t group : group_of_key) ++starts[group + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  workspace.groups.order.resize(group_of_key.size());
  std::vector<int32_t> next(starts.begin(), starts.end() - 1);
  for (size_t i = 0; i < group_of_key.size(); ++i) {
    workspace.groups.order[next[group_of_key[i]]++] = static_cast<int32_t>(i);
  }
}

}  // namespace

void GroupByShard(std::span<const Key> keys, uint64_t salt, const wire::ShardMap& map,
                  BatchWorkspace& workspace) {
  workspace.group_of_key.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    workspace.group_of_key[i] = static_cast<uint16_t>(map.owner(map.PartitionOf(keys[i], salt)));
  }
  Group(map.shards().size(), workspace);
}

void GroupByPartition(std::span<const Key> keys, uint64_t salt, const wire::ShardMap& map,
                      BatchWorkspace& workspace) {
  workspace.group_of_key.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    workspace.group_of_key[i] = static_cast<uint16_t>(map.PartitionOf(keys[i], salt));
  }
  Group(map.partitions(), workspace);
}

std::vector<std::vector<Segment>> CutPull(std::span<const RoutedTable> tables, uint32_t shard) {
  std::vector<std::vector<Segment>> messages;
  uint64_t used = wire::kMaxPayloadBytes;  // no message yet
  for (size_t t = 0; t < tables.size(); ++t) {
    int32_t begin = tables[t].groups->starts[shard];
    const int32_t end = tables[t].groups->starts[shard + 1];
    // A reply's row is never smaller than the request's key, but for a dim of 1.
    const uint64_t key_bytes = std::max<uint64_t>(RowBytes(tables[t]), sizeof(Key));
    while (begin < end) {
      if (used + wire::kMaxTableHeaderBytes + key_bytes > wire::kMaxPayloadBytes ||
          messages.back().size() == static_cast<size_t>(wire::kMaxTablesPerMessage)) {
        messages.emplace_back();
        used = 0;
      }
      const uint64_t room =
          (wire::kMaxPayloadBytes - used - wire::kMaxTableHeaderBytes) / key_bytes;
      const auto count = static_cast<int32_t>(std::min<uint64_t>(room, end - begin));
      messages.back().push_back({static_cast<int32_t>(t), begin, begin + count});
      used += wire::kMaxTableHeaderBytes + count * key_bytes;
      begin += count;
    }
  }
  return messages;
}

std::vector<std::vector<Segment>> CutSubPushes(std::span<const RoutedTable> tables,
                                               uint32_t partition) {
  std::vector<std::vector<Segment>> sub_pushes;
  uint64_t used = kMaxSubPushBytes;  // no sub-push yet
  for (size_t t = 0; t < tables.size(); ++t) {
    int32_t begin = tables[t].groups->starts[partition];
    const int32_t end = tables[t].groups->starts[partition + 1];
    const uint64_t key_bytes = sizeof(Key) + RowBytes(tables[t]);
    while (begin < end) {
      if (used + key_bytes > kMaxSubPushBytes ||
          sub_pushes.back().size() == static_cast<size_t>(wire::kMaxTablesPerMessage)) {
        sub_pushes.emplace_back();
        used = 0;
      }
      const uint64_t room = (kMaxSubPushBytes - used) / key_bytes;
      const auto count = static_cast<int32_t>(std::min<uint64_t>(room, end - begin));
      sub_pushes.back().push_back({static_cast<int32_t>(t), begin, begin + count});
      used += count * key_bytes;
      begin += count;
    }
  }
  return sub_pushes;
}

uint64_t SubPushMessageBytes(const wire::SubPush& sub_push) {
  return wire::kMaxSubPushHeaderBytes + wire::kMaxTableHeaderBytes * sub_push.tables.size() +
         sub_push.payload_bytes();
}

}  // namespace hotrow::client
