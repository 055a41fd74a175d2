// Creating, describing, listing and dropping tables.

#include <gtest/gtest.h>

#include <set>

#include "proto/wire/status_codec.h"
#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::ErrorKind;

v1::CreateTableRequest Creation(const v1::TableSchema& schema, uint32_t table_id = 0,
                                bool exist_ok = false) {
  v1::CreateTableRequest request;
  *request.mutable_schema() = schema;
  request.set_table_id(table_id);
  request.set_exist_ok(exist_ok);
  return request;
}

TEST(CreateTable, AssignsIdsThatAreNeverUsedAgain) {
  const auto shard = MakeShard({});
  std::set<uint32_t> ids;
  for (int i = 0; i < 20; ++i) {
    const auto created = shard->CreateTable(Creation(SgdSchema("t", 4)));
    ASSERT_TRUE(created.ok()) << created.status();
    EXPECT_TRUE(created->created());
    EXPECT_GE(created->table().table_id(), 1U);
    ids.insert(created->table().table_id());
    ASSERT_TRUE(shard->DropTable("t").ok());
    EXPECT_EQ(KindOf(shard->CreateTable(Creation(SgdSchema("u", 4), *ids.begin())).status()),
              ErrorKind::kAlreadyExists)
        << "the id of a dropped table";
  }
  EXPECT_EQ(ids.size(), 20U);
}

TEST(CreateTable, StartsIdsOfAnotherProcessLifeElsewhere) {
  std::set<uint32_t> ids;
  for (int life = 0; life < 8; ++life) {
    ids.insert(MakeShard({})->CreateTable(Creation(SgdSchema("t", 4)))->table().table_id());
  }
  EXPECT_EQ(ids.size(), 8U);
}

TEST(CreateTable, IsIdempotentForAnEqualSchema) {
  const auto shard = MakeShard({});
  const auto first = shard->CreateTable(Creation(SgdSchema("t", 4)));
  auto spelled = SgdSchema("t", 4);
  spelled.set_gradient_bound(1e15F);
  const auto second = shard->CreateTable(Creation(spelled, 0, true));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->created());
  EXPECT_EQ(second->table().table_id(), first->table().table_id());
  const auto told = shard->CreateTable(Creation(spelled, first->table().table_id()));
  ASSERT_TRUE(told.ok()) << "the same creation, told again";
  EXPECT_FALSE(told->created());
  EXPECT_EQ(KindOf(shard->CreateTable(Creation(spelled)).status()), ErrorKind::kAlreadyExists);
}

TEST(CreateTable, NamesTheFirstFieldThatDiffers) {
  const auto shard = MakeShard({});
  ASSERT_TRUE(shard->CreateTable(Creation(SgdSchema("t", 4))).ok());
  const auto error =
      wire::FromStatus(shard->CreateTable(Creation(SgdSchema("t", 5), 0, true)).status());
  EXPECT_EQ(error.kind, ErrorKind::kSchemaMismatch);
  EXPECT_NE(error.message.find("dim = 4, not 5"), std::string::npos) << error.message;
  EXPECT_EQ(error.table, "t");
  EXPECT_EQ(error.shard, 0);
  EXPECT_FALSE(error.hint.empty());
}

TEST(CreateTable, LeavesIdsToTheOwnerOfPartitionZero) {
  const auto second = MakeShard({.shards = 2}, 1);
  const auto error = wire::FromStatus(second->CreateTable(Creation(SgdSchema("t", 4))).status());
  EXPECT_EQ(error.kind, ErrorKind::kInvalidArgument);
  EXPECT_FALSE(error.hint.empty());
  const auto told = second->CreateTable(Creation(SgdSchema("t", 4), 17));
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->table().table_id(), 17U);
}

TEST(CreateTable, ExplainsATableThatShardZeroHasForgotten) {
  const auto second = MakeShard({.shards = 2}, 1);
  ASSERT_TRUE(second->CreateTable(Creation(SgdSchema("t", 4), 17)).ok());
  const auto error =
      wire::FromStatus(second->CreateTable(Creation(SgdSchema("t", 4), 18, true)).status());
  EXPECT_EQ(error.kind, ErrorKind::kSchemaMismatch);
  EXPECT_NE(error.hint.find("restarted"), std::string::npos) << error.hint;
  EXPECT_EQ(KindOf(second->CreateTable(Creation(SgdSchema("u", 4), 17)).status()),
            ErrorKind::kAlreadyExists)
      << "the id belongs to t";
}

TEST(CreateTable, RefusesWhatCannotBeServedAndKeepsNothing) {
  const auto shard = MakeShard({});
  auto schema = SgdSchema("t", 4);
  schema.set_durability(v1::DURABILITY_CLASS_DISK);
  EXPECT_EQ(KindOf(shard->CreateTable(Creation(schema)).status()), ErrorKind::kUnimplemented);
  EXPECT_EQ(KindOf(shard->DescribeTable("t").status()), ErrorKind::kNotFound);
  EXPECT_TRUE(shard->CreateTable(Creation(SgdSchema("t", 4))).ok());
}

TEST(CreateTable, RefusesWhenTheBudgetHasNoRoomForIt) {
  const auto shard = MakeShard({.memory_budget_bytes = 1000});
  const auto error = wire::FromStatus(shard->CreateTable(Creation(SgdSchema("t", 4))).status());
  EXPECT_EQ(error.kind, ErrorKind::kCapacityFull);
  EXPECT_EQ(error.table, "t");
  EXPECT_TRUE(shard->ListTables().empty());
}

TEST(DescribeTable, TellsIdRowBytesAndTheNormalizedSchema) {
  OneTable one(AdagradSchema("t", 4));
  TablePart part = one.Part({1}, {1, 1, 1, 1});
  part.step = 41;
  one.PushAll(part);
  const auto described = one.shard().DescribeTable("t");
  ASSERT_TRUE(described.ok());
  EXPECT_EQ(described->table_id(), one.table_id());
  EXPECT_EQ(described->row_bytes(), 4U * 4 + 4 * 4 + 16);
  EXPECT_EQ(described->highest_step(), 41U);
  EXPECT_EQ(described->schema().durability(), v1::DURABILITY_CLASS_MEMORY);
  EXPECT_EQ(KindOf(one.shard().DescribeTable("u").status()), ErrorKind::kNotFound);
}

TEST(ListTables, ListsThemByName) {
  const auto shard = MakeShard({});
  for (const char* name : {"b", "c", "a"}) {
    ASSERT_TRUE(shard->CreateTable(Creation(SgdSchema(name, 4))).ok());
  }
  const auto tables = shard->ListTables();
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].schema().name(), "a");
  EXPECT_EQ(tables[2].schema().name(), "c");
}

TEST(DropTable, FreesMemoryAndForgetsTheTable) {
  OneTable one(SgdSchema("t", 64));
  const uint64_t empty = one.Stats().allocated_bytes();
  const auto keys = MixedKeys(20000);
  for (size_t begin = 0; begin < keys.size(); begin += 5000) {
    const std::vector<Key> some(keys.begin() + begin, keys.begin() + begin + 5000);
    one.PushAll(one.Part(some, MixedRows(some, 64)));
  }
  EXPECT_GT(one.Stats().allocated_bytes(), empty + 20000 * 64 * 4);
  const auto dropped = one.shard().DropTable("t");
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(*dropped, 20000U);
  EXPECT_EQ(one.shard().GetStats("")->memory_used_bytes(), 0U);
  EXPECT_EQ(PullNow(one.shard(), PullMessage(one.table_id(), {1})).message.error.kind,
            ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(one.shard().DropTable("t").status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(one.shard().GetStats("t").status()), ErrorKind::kNotFound);
}

TEST(GetStats, CountsWhatHappened) {
  OneTable one(SgdSchema("t", 4));
  const auto keys = MixedKeys(30);
  one.PushAll(one.Part(keys, MixedRows(keys, 4)));
  one.PushAll(one.Part(keys, MixedRows(keys, 4)));
  one.Pull(MixedKeys(40));
  const auto stats = one.shard().GetStats("");
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->shard(), 0U);
  EXPECT_FALSE(stats->version().empty());
  EXPECT_EQ(stats->state(), "serving");
  EXPECT_EQ(stats->memory_budget_bytes(), 256U << 20);
  EXPECT_EQ(stats->sessions(), 1U);
  EXPECT_EQ(stats->pull_requests(), 1U);
  EXPECT_EQ(stats->push_requests(), 2U);
  EXPECT_EQ(stats->requests_failed(), 0U);
  ASSERT_EQ(stats->tables_size(), 1);
  const v1::TableStats& table = stats->tables(0);
  EXPECT_EQ(table.rows(), 30U);
  EXPECT_EQ(table.used_bytes(), 30U * 32);
  EXPECT_EQ(table.allocated_bytes(), stats->memory_used_bytes());
  EXPECT_EQ(table.rows_pulled(), 40U);
  EXPECT_EQ(table.rows_pulled_initial(), 10U);
  EXPECT_EQ(table.rows_pushed(), 60U);
  EXPECT_EQ(table.rows_created(), 30U);
  EXPECT_EQ(table.rows_refused(), 0U);
  EXPECT_EQ(table.highest_step(), 1U);
}

TEST(CreateShard, RefusesOptionsThatCannotWork) {
  ShardOptions options{.shard = 2, .map = TestMap({.shards = 2}), .memory_budget_bytes = 1 << 20};
  EXPECT_EQ(KindOf(Shard::Create(options).status()), ErrorKind::kInvalidArgument);
  options.shard = 1;
  EXPECT_TRUE(Shard::Create(options).ok());
  options.memory_budget_bytes = 0;
  EXPECT_EQ(KindOf(Shard::Create(options).status()), ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace hotrow::test
