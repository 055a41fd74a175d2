#include <gtest/gtest.h>

#include <numeric>

#include "client/src/batch_router.h"

namespace hotrow::client {
namespace {

KeyGroups OneGroup(int32_t count) { return {.order = {}, .starts = {0, count}}; }

int64_t Total(const std::vector<std::vector<Segment>>& parts) {
  int64_t total = 0;
  for (const auto& part : parts) {
    for (const Segment& segment : part) total += segment.count();
  }
  return total;
}

TEST(Router, KeysKeepTheirOrderWithinAGroupAndLoseNone) {
  const auto map = wire::ShardMap::Static({"a", "b", "c"}, 64);
  for (const size_t count : {0, 1, 31, 32, 33, 10000}) {
    std::vector<Key> keys(count);
    std::iota(keys.begin(), keys.end(), 1000);
    BatchWorkspace workspace;
    GroupByPartition(keys, 42, *map, workspace);
    const KeyGroups& groups = workspace.groups;
    ASSERT_EQ(groups.starts.size(), 65u);
    EXPECT_EQ(groups.starts.back(), static_cast<int32_t>(count));
    for (uint32_t p = 0; p < 64; ++p) {
      for (int32_t i = groups.starts[p]; i < groups.starts[p + 1]; ++i) {
        EXPECT_EQ(map->PartitionOf(keys[groups.order[i]], 42), p);
        if (i > groups.starts[p]) {
          EXPECT_LT(groups.order[i - 1], groups.order[i]);
        }
      }
    }
    GroupByShard(keys, 42, *map, workspace);
    EXPECT_EQ(workspace.groups.starts.size(), 4u);
    EXPECT_EQ(workspace.groups.starts.back(), static_cast<int32_t>(count));
  }
}

TEST(Router, PullMessagesStayWithinTheLimitInBothDirections) {
  for (const int64_t dim : {int64_t{1}, int64_t{2}, int64_t{16}, int64_t{65536}}) {
    const KeyGroups groups = OneGroup(300000);
    const RoutedTable tables[] = {{&groups, dim}};
    const auto messages = CutPull(tables, 0);
    EXPECT_EQ(Total(messages), 300000);
    for (const auto& message : messages) {
      const uint64_t rows = message[0].count();
      EXPECT_LE(rows * dim * 4, wire::kMaxPayloadBytes);
      EXPECT_LE(rows * 8, wire::kMaxPayloadBytes);
    }
  }
}

TEST(Router, AMessageHoldsManyTablesButNotTooMany) {
  const KeyGroups groups = OneGroup(1);
  const std::vector<RoutedTable> tables(600, RoutedTable{&groups, 4});
  const auto messages = CutPull(tables, 0);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].size(), 256u);
  EXPECT_EQ(messages[2].size(), 88u);
  const auto sub_pushes = CutSubPushes(tables, 0);
  ASSERT_EQ(sub_pushes.size(), 3u);
  EXPECT_EQ(sub_pushes[0].size(), 256u);
}

TEST(Router, WhatExceedsTwoMebibytesInAPartitionBecomesSeveralSubPushes) {
  const KeyGroups small = OneGroup(10);
  const KeyGroups large = OneGroup(20000);
  const RoutedTable tables[] = {{&small, 64}, {&large, 64}, {&small, 64}};
  const auto sub_pushes = CutSubPushes(tables, 0);
  EXPECT_EQ(Total(sub_pushes), 20020);
  EXPECT_EQ(sub_pushes.size(), 3u);  // 264 bytes a key: 7943 fit
  for (const auto& sub_push : sub_pushes) {
    uint64_t bytes = 0;
    for (const Segment& segment : sub_push) bytes += segment.count() * uint64_t{264};
    EXPECT_LE(bytes, kMaxSubPushBytes);
  }
  const KeyGroups none = OneGroup(0);
  const RoutedTable empty[] = {{&none, 64}};
  EXPECT_TRUE(CutSubPushes(empty, 0).empty());
  EXPECT_TRUE(CutPull(empty, 0).empty());
}

}  // namespace
}  // namespace hotrow::client
