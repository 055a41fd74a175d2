// Pulls: what they answer, what they refuse, and that they change nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <thread>

#include "kernels/initializers/initializer.h"
#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::ErrorKind;

v1::TableSchema UniformSchema(const std::string& name, uint32_t dim) {
  v1::TableSchema schema = AdagradSchema(name, dim);
  schema.mutable_initializer()->mutable_uniform()->set_low(-1.0F);
  schema.mutable_initializer()->mutable_uniform()->set_high(1.0F);
  schema.set_seed(5);
  return schema;
}

std::vector<float> InitialRows(const std::string& table, const std::vector<Key>& keys,
                               int64_t dim) {
  const Initializer initializer{InitializerKind::kUniform, -1.0F, 1.0F, wire::TableSalt(table), 5};
  std::vector<float> rows(keys.size() * dim);
  std::vector<RowPointer> targets;
  for (size_t i = 0; i < keys.size(); ++i) targets.push_back(AsRow(&rows[i * dim]));
  InitializeRows(initializer, keys, {targets, dim});
  return rows;
}

TEST(Pull, AnswersInitialValuesOfUnknownKeysAndStoresNothing) {
  OneTable one(UniformSchema("t", 3));
  for (const int64_t count : {0, 1, 31, 32, 33, 5000}) {
    const auto keys = MixedKeys(count, count);
    EXPECT_EQ(one.Pull(keys), InitialRows("t", keys, 3)) << count;
  }
  EXPECT_EQ(one.Stats().rows(), 0U);
  EXPECT_EQ(one.Stats().rows_pulled(), 5097U);
  EXPECT_EQ(one.Stats().rows_pulled_initial(), 5097U);
}

TEST(Pull, ChangesNeitherRowsNorStateNorMemory) {
  OneTable one(UniformSchema("t", 3));
  const auto stored = MixedKeys(2000);
  one.PushAll(one.Part(stored, MixedRows(stored, 3)));
  const auto before = one.Stats();
  const auto rows = one.Pull(stored);
  auto mixed = MixedKeys(4000);  // half of them stored
  std::reverse(mixed.begin(), mixed.end());
  for (int i = 0; i < 3; ++i) one.Pull(mixed);
  EXPECT_EQ(one.Stats().rows(), before.rows());
  EXPECT_EQ(one.Stats().allocated_bytes(), before.allocated_bytes());
  EXPECT_EQ(one.Pull(stored), rows);
  EXPECT_EQ(one.Stats().rows_pulled_initial(), 3U * 2000U);
}

TEST(Pull, AnswersRepeatedKeysEachTimeAndKeysCutAcrossSlices) {
  OneTable one(UniformSchema("t", 3));
  const std::vector<Key> keys{7, ~Key{0}, 7, Key{1} << 63, 0, 7};
  one.PushAll(one.Part({7}, {0.5F, 0.25F, 0.125F}));
  const auto whole = one.Pull(keys);
  const auto sliced = PullNow(one.shard(), PullMessage(one.table_id(), keys, 5));
  ASSERT_TRUE(sliced.message.error.ok());
  EXPECT_EQ(Floats(sliced.payload), whole);
  EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 3, whole.begin() + 6));
  EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 3, whole.begin() + 15));
}

TEST(Pull, AnswersSeveralTablesInTheOrderOfTheRequest) {
  OneTable one(UniformSchema("t", 3));
  v1::CreateTableRequest create;
  *create.mutable_schema() = UniformSchema("u", 5);
  const uint32_t second = one.shard().CreateTable(create)->table().table_id();
  const auto keys = MixedKeys(40);
  wire::PullRequest request = PullMessage(0, keys);
  request.tables = {{second, 30}, {one.table_id(), 9}, {second, 1}};
  const auto reply = PullNow(one.shard(), std::move(request));
  ASSERT_TRUE(reply.message.error.ok()) << reply.message.error.message;
  EXPECT_EQ(reply.message.request_id, 78U);
  ASSERT_EQ(reply.message.tables.size(), 3U);
  EXPECT_EQ(reply.message.tables[0].dim, 5U);
  EXPECT_EQ(reply.message.tables[1].dim, 3U);
  EXPECT_EQ(reply.message.tables[1].row_count, 9U);
  std::vector<float> expected = InitialRows("u", {keys.begin(), keys.begin() + 30}, 5);
  const auto middle = InitialRows("t", {keys.begin() + 30, keys.begin() + 39}, 3);
  const auto last = InitialRows("u", {keys.begin() + 39, keys.end()}, 5);
  expected.insert(expected.end(), middle.begin(), middle.end());
  expected.insert(expected.end(), last.begin(), last.end());
  EXPECT_EQ(Floats(reply.payload), expected);
  EXPECT_EQ(reply.message.payload_hash,
            wire::Payload(reply.payload, 0, expected.size() * 4).Hash());
}

void ExpectRefused(Shard& shard, wire::PullRequest request, ErrorKind kind) {
  const auto reply = PullNow(shard, std::move(request));
  EXPECT_EQ(reply.message.error.kind, kind) << reply.message.error.message;
  EXPECT_EQ(reply.message.error.shard, 0);
  EXPECT_FALSE(reply.message.error.message.empty());
  EXPECT_FALSE(reply.message.error.hint.empty());
  EXPECT_EQ(reply.message.request_id, 78U);
  EXPECT_TRUE(reply.payload.empty());
  EXPECT_TRUE(reply.message.tables.empty());
}

TEST(Pull, RefusesUnknownTablesForeignMapsAndKeysOutOfRange) {
  auto schema = UniformSchema("t", 3);
  schema.set_num_embeddings(1000);
  OneTable one(schema);
  ExpectRefused(one.shard(), PullMessage(one.table_id() + 1, {1}), ErrorKind::kNotFound);
  ExpectRefused(one.shard(), PullMessage(one.table_id(), {1, 999, 1000}), ErrorKind::kKeyRange);
  ExpectRefused(one.shard(), PullMessage(one.table_id(), {~Key{0}}), ErrorKind::kKeyRange);
  auto old_map = PullMessage(one.table_id(), {1});
  old_map.map_version = 2;
  ExpectRefused(one.shard(), std::move(old_map), ErrorKind::kStaleMap);
  auto old_timeline = PullMessage(one.table_id(), {1});
  old_timeline.timeline = 0;
  ExpectRefused(one.shard(), std::move(old_timeline), ErrorKind::kStaleMap);
  EXPECT_EQ(one.shard().counters().requests_failed.value(), 5U);
}

TEST(Pull, RefusesKeysOfAnotherShard) {
  OneTable one(UniformSchema("t", 3), {.shards = 2});
  auto keys = one.Keys(31, 20);
  EXPECT_EQ(one.Pull(keys), InitialRows("t", keys, 3));
  keys.push_back(one.Keys(32, 1)[0]);
  ExpectRefused(one.shard(), PullMessage(one.table_id(), keys), ErrorKind::kStaleMap);
}

TEST(Pull, RefusesAReplyThatDoesNotFitAMessage) {
  OneTable one(UniformSchema("t", 65536));
  EXPECT_EQ(one.Pull(MixedKeys(15)).size(), 15U * 65536U);
  ExpectRefused(one.shard(), PullMessage(one.table_id(), MixedKeys(16)),
                ErrorKind::kInvalidArgument);
}

// Whether the last of three strands answers on the thread that asks.
bool AnswersHere(OneTable& one) {
  std::promise<std::thread::id> ran_on;
  one.shard().Pull(PullMessage(one.table_id(), MixedKeys(100)), kNoDeadline,
                   [&](const PullReply& reply) {
                     EXPECT_TRUE(reply.message.error.ok());
                     ran_on.set_value(std::this_thread::get_id());
                   });
  return ran_on.get_future().get() == std::this_thread::get_id();
}

TEST(Pull, AShortOneRunsOnTheThreadThatBringsItThroughAllStrands) {
  OneTable longer(SgdSchema("t", 2), {.strands = 3, .short_request_bytes = 0});
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(AnswersHere(longer));
  OneTable shorter(SgdSchema("t", 2), {.strands = 3, .short_request_bytes = kShortRequestBytes});
  bool here = false;  // once no strand's own thread is at the end of an earlier task
  for (int i = 0; i < 1000 && !here; ++i) here = AnswersHere(shorter);
  EXPECT_TRUE(here);
}

TEST(Pull, SeesEveryPushThatWasAnsweredBefore) {
  OneTable one(SgdSchema("t", 2));
  for (int i = 1; i <= 50; ++i) {
    one.PushAll(one.Part({42}, {1.0F, 2.0F}));
    EXPECT_EQ(one.Pull({42}), (std::vector<float>{-1.0F * i, -2.0F * i}));
  }
}

}  // namespace
}  // namespace hotrow::test
