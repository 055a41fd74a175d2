#include "proto/wire/shard_map.h"

#include <gtest/gtest.h>

#include <set>

#include "hotrow/v1/shard_map.pb.h"
#include "proto/wire/hashes.h"

namespace hotrow::wire {
namespace {

std::vector<std::string> Addresses(int count) {
  std::vector<std::string> shards;
  for (int i = 0; i < count; ++i) shards.push_back("127.0.0.1:" + std::to_string(7000 + i));
  return shards;
}

v1::ShardMap ValidProto() {
  v1::ShardMap proto;
  ShardMap::Static(Addresses(3), 8)->ToProto(&proto);
  return proto;
}

TEST(ShardMap, StaticOwnersAreContiguousAndBalanced) {
  for (const uint32_t partitions : {1U, 2U, 64U, 1024U}) {
    for (uint32_t shards = 1; shards <= std::min(partitions, 33U); ++shards) {
      const absl::StatusOr<ShardMap> map =
          ShardMap::Static(Addresses(static_cast<int>(shards)), partitions);
      ASSERT_TRUE(map.ok()) << map.status();
      std::vector<uint32_t> owned(shards);
      for (uint32_t p = 0; p < partitions; ++p) {
        ++owned[map->owner(p)];
        EXPECT_EQ(map->owner(p), p * shards / partitions);
        EXPECT_TRUE(p == 0 || map->owner(p) >= map->owner(p - 1));
      }
      const auto [least, most] = std::minmax_element(owned.begin(), owned.end());
      EXPECT_GE(*least, 1U);
      EXPECT_LE(*most - *least, 1U);
    }
  }
}

TEST(ShardMap, RoutesByTheTopBitsOfTheHash) {
  for (const uint32_t partitions : {1U, 2U, 64U, 1024U}) {
    const ShardMap map = *ShardMap::Static(Addresses(1), partitions);
    const uint64_t salt = TableSalt("clicks");
    std::set<uint32_t> seen;
    for (Key key = 0; key < 20'000; ++key) {
      const uint32_t partition = map.PartitionOf(key, salt);
      ASSERT_EQ(partition, MixKey(key ^ salt) / 2 / ((uint64_t{1} << 63) / partitions));
      seen.insert(partition);
    }
    EXPECT_EQ(seen.size(), partitions);
  }
}

TEST(ShardMap, SurvivesTheWayOverTheWire) {
  v1::ShardMap proto = ValidProto();
  proto.set_version(9);
  proto.set_timeline(4);
  proto.set_owners(2, 2);
  const absl::StatusOr<ShardMap> map = ShardMap::FromProto(proto);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->version(), 9U);
  EXPECT_EQ(map->timeline(), 4U);
  EXPECT_EQ(map->partitions(), 8U);
  EXPECT_EQ(map->partition_bits(), 3);
  EXPECT_EQ(map->owner(2), 2U);
  EXPECT_EQ(map->shards(), Addresses(3));
  v1::ShardMap again;
  again.add_owner_epochs(77);  // cleared
  map->ToProto(&again);
  EXPECT_EQ(again.SerializeAsString(), proto.SerializeAsString());
}

TEST(ShardMap, StaticRefusesImpossibleCounts) {
  for (const uint32_t partitions : {0U, 3U, 65U, 2048U}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ShardMap::Static(Addresses(1), partitions).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ShardMap::Static({}, 64).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ShardMap::Static(Addresses(3), 2).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ShardMap::Static({"a:1", ""}, 2).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ShardMap::Static({"a:1", "a:1"}, 2).status()));
}

TEST(ShardMap, AnIncompleteMapIsRefused) {
  const auto refused = [](auto change) {
    v1::ShardMap proto = ValidProto();
    change(proto);
    return absl::IsInvalidArgument(ShardMap::FromProto(proto).status());
  };
  EXPECT_FALSE(refused([](v1::ShardMap&) {}));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.clear_version(); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.clear_timeline(); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.clear_partitions(); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.set_partitions(7); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.set_partitions(UINT32_MAX); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.clear_shards(); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.set_shards(1, ""); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.set_shards(1, map.shards(0)); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.add_owners(0); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.mutable_owners()->RemoveLast(); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.set_owners(7, 3); }));
  EXPECT_TRUE(refused([](v1::ShardMap& map) { map.add_owner_epochs(1); }));
}

}  // namespace
}  // namespace hotrow::wire
