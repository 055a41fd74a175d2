// Upserts, removes, duplicates and what a created row starts from.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::Operation;
using wire::Outcome;

TEST(Upsert, WritesWeightsAndStartsTheStateAfresh) {
  OneTable one(AdagradSchema("t", 2));
  const Key key = one.Keys(3, 1)[0];
  TablePart gradient = one.Part({key}, {3.0F, 4.0F});
  gradient.learning_rate = 0.5F;
  one.Send(Freeze(3, 1, Operation::kPush, {gradient}));
  EXPECT_EQ(one.Pull({key})[0], -0.5F);
  const auto upsert = one.Send(Freeze(3, 2, Operation::kUpsert, {one.Part({key}, {10.0F, 20.0F})}));
  EXPECT_EQ(upsert.counts[0].rows_updated, 1U);
  EXPECT_EQ(one.Pull({key}), (std::vector<float>{10.0F, 20.0F}));
  one.Send(Freeze(3, 3, Operation::kPush, {gradient}));
  EXPECT_EQ(one.Pull({key})[0], 9.5F) << "the accumulator was 0 again";
}

TEST(Upsert, CreatesRowsAndTakesTheLastOfARepeatedKey) {
  OneTable one(SgdSchema("t", 2));
  const auto keys = one.Keys(3, 2);
  const auto part = one.Part({keys[0], keys[1], keys[0]}, {1, 2, 3, 4, 5, 6});
  const auto result = one.Send(Freeze(3, 1, Operation::kUpsert, {part}));
  EXPECT_EQ(result.counts[0].rows_created, 2U);
  EXPECT_EQ(one.Pull(keys), (std::vector<float>{5, 6, 3, 4}));
  EXPECT_EQ(one.Stats().rows_pushed(), 0U) << "an upsert is no push";
}

TEST(Upsert, KeepsTheLastRowsOfManyRepeatedKeysInTheirPlaces) {
  OneTable one(SgdSchema("t", 3));
  const auto keys = one.Keys(3, 40);
  TablePart part = one.Part({}, {});
  for (uint64_t i = 0; i < 300; ++i) {
    const Key key = keys[MixKey(i) % 40];
    part.keys.push_back(key);
    for (int c = 0; c < 3; ++c) part.rows.push_back(MixedValue(i, c));
  }
  const auto message = Message(one.session(), {Freeze(3, 1, Operation::kUpsert, {part})}, 7);
  PushNow(one.shard(), message);
  std::map<Key, uint64_t> last;
  for (uint64_t i = 0; i < 300; ++i) last[part.keys[i]] = i;
  for (const auto& [key, i] : last) EXPECT_EQ(one.Pull({key})[2], MixedValue(i, 2));
}

TEST(Remove, TakesRowsAwayAndCountsThoseThatWereThere) {
  OneTable one(AdagradSchema("t", 2));
  const auto keys = one.Keys(3, 4);
  one.Send(one.Push(3, 1, keys));
  const std::vector<Key> gone{keys[0], keys[2], keys[0], one.Keys(3, 9)[8]};
  const auto remove = Freeze(3, 2, Operation::kRemove, {{one.table_id(), gone, {}, 0, 1, 0.0F}});
  const auto result = one.Send(remove);
  EXPECT_EQ(result.outcome, Outcome::kApplied);
  EXPECT_EQ(result.counts[0].rows_updated, 2U);
  EXPECT_EQ(one.Stats().rows(), 2U);
  EXPECT_EQ(one.Pull({keys[0]}), (std::vector<float>{0, 0}));
  TablePart gradient = one.Part({keys[0]}, {3.0F, 4.0F});
  gradient.learning_rate = 0.5F;
  const auto again = one.Send(Freeze(3, 3, Operation::kPush, {gradient}));
  EXPECT_EQ(again.counts[0].rows_created, 1U);
  EXPECT_EQ(one.Pull({keys[0]})[0], -0.5F) << "no state is inherited";
  EXPECT_TRUE(one.Send(remove).duplicate);
  EXPECT_EQ(one.Stats().rows(), 3U) << "a repeated remove removes nothing";
}

TEST(Remove, RefusesRowsThatComeWithIt) {
  OneTable one(SgdSchema("t", 2));
  const auto keys = one.Keys(3, 1);
  const auto result = one.Send(Freeze(3, 1, Operation::kRemove, {one.Part(keys, {1, 2})}));
  EXPECT_EQ(result.outcome, Outcome::kRefused);
  EXPECT_EQ(result.error.kind, wire::ErrorKind::kSchemaMismatch);
}

TEST(DuplicateKeys, AreSummedBeforeTheOptimizerSeesThem) {
  OneTable one(AdagradSchema("t", 1));
  const Key key = one.Keys(3, 1)[0];
  one.Send(Freeze(3, 1, Operation::kUpsert, {one.Part({key}, {1.0F})}));
  TablePart part = one.Part({key, key}, {1.0F, 3.0F});
  part.learning_rate = 0.1F;
  const auto result = one.Send(Freeze(3, 2, Operation::kPush, {part}));
  EXPECT_EQ(result.counts[0].rows_updated, 1U);
  EXPECT_FLOAT_EQ(one.Pull({key})[0], 0.9F);
}

TEST(DuplicateKeys, AreSummedInRequestOrderInBlocksOf256) {
  OneTable one(SgdSchema("t", 1));
  const Key key = one.Keys(3, 1)[0];
  TablePart part = one.Part({}, {});
  float block = 0;
  float total = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const float value = MixedValue(i, 0) * 1e4F + MixedValue(i, 1) * 1e-4F;
    part.keys.push_back(key);
    part.rows.push_back(value);
    block = i % 256 == 0 ? value : block + value;
    if (i % 256 == 255 || i == 999) total = i == 255 ? block : total + block;
  }
  one.Send(Freeze(3, 1, Operation::kPush, {part}));
  EXPECT_EQ(one.Pull({key})[0], -total);
}

TEST(CreatedRow, StartsFromTheInitialValueThatAPullAnswers) {
  auto schema = AdagradSchema("t", 8);
  schema.mutable_initializer()->mutable_normal()->set_standard_deviation(0.5F);
  schema.mutable_optimizer()->mutable_adagrad()->set_initial_accumulator_value(4.0F);
  OneTable one(schema);
  const auto keys = MixedKeys(33);
  const auto initial = one.Pull(keys);
  TablePart part = one.Part(keys, MixedRows(keys, 8));
  one.PushAll(part);
  const auto rows = one.Pull(keys);
  for (size_t i = 0; i < rows.size(); ++i) {
    const float g = part.rows[i];
    ASSERT_EQ(rows[i], initial[i] - 1.0F * g / (std::sqrt(4.0F + g * g) + 1e-10F)) << i;
  }
}

TEST(AnyKey, IsAnOrdinaryKey) {
  OneTable one(SgdSchema("t", 1));
  const std::vector<Key> keys{0, 1, ~Key{0}, ~Key{0} - 1, Key{1} << 63, (Key{1} << 63) - 1};
  one.PushAll(one.Part(keys, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(one.Pull(keys), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(one.Stats().rows(), 6U);
}

TEST(MixedMessage, AppliesPushUpsertRemoveAndSkipInTheirOrder) {
  OneTable one(SgdSchema("t", 1));
  const auto keys = one.Keys(3, 2);
  const auto response = PushNow(
      one.shard(),
      Message(one.session(),
              {Freeze(3, 1, Operation::kUpsert, {one.Part(keys, {10, 20})}),
               Freeze(3, 2, Operation::kPush, {one.Part({keys[0]}, {1})}),
               Freeze(3, 3, Operation::kSkip, {}),
               Freeze(3, 4, Operation::kRemove, {{one.table_id(), {keys[1]}, {}, 0, 1, 0.0F}}),
               Freeze(3, 5, Operation::kPush, {one.Part(keys, {2, 3})})},
              3));
  for (const auto& result : response.results) {
    EXPECT_EQ(result.outcome, Outcome::kApplied) << result.error.message;
  }
  EXPECT_EQ(one.Pull(keys), (std::vector<float>{7, -3}));
  EXPECT_EQ(response.results[4].applied_lsn, 5U);
}

TEST(EmptySubPush, IsAppliedAndMovesTheStep) {
  OneTable one(SgdSchema("t", 1));
  EXPECT_EQ(one.Send(Freeze(3, 1, Operation::kPush, {})).outcome, Outcome::kApplied);
  TablePart part = one.Part({}, {});
  part.step = 12;
  EXPECT_EQ(one.Send(Freeze(3, 2, Operation::kPush, {part})).outcome, Outcome::kApplied);
  EXPECT_EQ(one.Stats().highest_step(), 12U);
  EXPECT_EQ(one.Stats().rows(), 0U);
}

}  // namespace
}  // namespace hotrow::test
