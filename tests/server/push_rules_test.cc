// The rules of a push, one by one: what is applied, refused, answered again or left open.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::ErrorKind;
using wire::Operation;
using wire::Outcome;

constexpr uint32_t kDim = 4;

class PushRules : public testing::Test {
 protected:
  OneTable one_{SgdSchema("t", kDim)};
};

TEST_F(PushRules, ApplyAFreshNumberAndCountItsRows) {
  const auto keys = one_.Keys(3, 5);
  const auto result = one_.Send(one_.Push(3, 1, keys));
  EXPECT_EQ(result.outcome, Outcome::kApplied);
  EXPECT_FALSE(result.duplicate);
  EXPECT_EQ(result.partition, 3U);
  EXPECT_EQ(result.sequence, 1U);
  EXPECT_EQ(result.applied_lsn, 1U);
  EXPECT_EQ(result.durable_sequence, 2U);
  ASSERT_EQ(result.counts.size(), 1U);
  EXPECT_EQ(result.counts[0].rows_created, 5U);
  EXPECT_EQ(result.counts[0].rows_updated, 0U);
  const auto again = one_.Send(one_.Push(3, 2, keys));
  EXPECT_EQ(again.counts[0].rows_created, 0U);
  EXPECT_EQ(again.counts[0].rows_updated, 5U);
  EXPECT_EQ(again.applied_lsn, 2U);
}

TEST_F(PushRules, AnswerARepeatedNumberWithTheKeptAnswerAndChangeNothing) {
  const auto keys = one_.Keys(3, 5);
  const auto push = one_.Push(3, 1, keys);
  const auto first = one_.Send(push);
  const auto rows = one_.Pull(keys);
  const auto second = one_.Send(push);
  EXPECT_TRUE(second.duplicate);
  EXPECT_EQ(second.outcome, Outcome::kApplied);
  EXPECT_EQ(second.applied_lsn, first.applied_lsn);
  ASSERT_EQ(second.counts.size(), 1U);
  EXPECT_EQ(second.counts[0].rows_created, 5U);
  EXPECT_EQ(one_.Pull(keys), rows);
  EXPECT_EQ(one_.shard().counters().sub_pushes_duplicate.value(), 1U);
}

TEST_F(PushRules, AnswerANumberThatComesTwiceInOneMessageOnce) {
  const auto keys = one_.Keys(3, 5);
  const auto push = one_.Push(3, 1, keys);
  const auto response = PushNow(one_.shard(), Message(one_.session(), {push, push}));
  ASSERT_EQ(response.results.size(), 2U);
  EXPECT_FALSE(response.results[0].duplicate);
  EXPECT_TRUE(response.results[1].duplicate);
  EXPECT_EQ(response.results[1].counts[0].rows_created, 5U);
  EXPECT_EQ(one_.Pull({keys[0]})[0], -MixedValue(keys[0], 0, 1));
}

TEST_F(PushRules, RefuseOtherBytesUnderAUsedNumber) {
  const auto keys = one_.Keys(3, 5);
  one_.Send(one_.Push(3, 1, keys));
  const auto rows = one_.Pull(keys);
  const auto other = one_.Send(one_.Push(3, 1, {keys[0]}));
  EXPECT_EQ(other.outcome, Outcome::kRefused);
  EXPECT_EQ(other.error.kind, ErrorKind::kInvalidArgument);
  EXPECT_EQ(one_.Pull(keys), rows);
  EXPECT_EQ(one_.shard().counters().content_conflicts.value(), 1U);
  EXPECT_EQ(one_.Send(one_.Push(3, 2, keys)).outcome, Outcome::kApplied);
}

TEST_F(PushRules, KeepTheLast64AnswersAndSayOfOlderNumbersThatTheyWereConsumed) {
  const auto keys = one_.Keys(3, 2);
  for (uint64_t sequence = 1; sequence <= 70; ++sequence) {
    ASSERT_EQ(one_.Send(one_.Push(3, sequence, keys)).applied_lsn, sequence);
  }
  const auto rows = one_.Pull(keys);
  for (uint64_t sequence = 1; sequence <= 70; ++sequence) {
    const auto answer = one_.Send(one_.Push(3, sequence, keys));
    EXPECT_TRUE(answer.duplicate) << sequence;
    EXPECT_EQ(answer.outcome, Outcome::kApplied) << sequence;
    EXPECT_EQ(answer.counts.size(), sequence > 6 ? 1U : 0U) << sequence;
    EXPECT_EQ(answer.applied_lsn, sequence > 6 ? sequence : 0U);
  }
  EXPECT_EQ(one_.Pull(keys), rows);
}

TEST_F(PushRules, LeaveAnEarlyNumberOpen) {
  const auto keys = one_.Keys(3, 5);
  const auto early = one_.Send(one_.Push(3, 2, keys));
  EXPECT_EQ(early.outcome, Outcome::kRetry);
  EXPECT_EQ(early.error.kind, ErrorKind::kOutOfOrder);
  EXPECT_EQ(one_.Stats().rows(), 0U);
  EXPECT_EQ(one_.Send(one_.Push(3, 1, keys)).outcome, Outcome::kApplied);
  EXPECT_EQ(one_.Send(one_.Push(3, 2, keys)).outcome, Outcome::kApplied);
}

TEST_F(PushRules, ApplyConsecutiveNumbersOfOnePartitionInOneMessageInOrder) {
  const auto keys = one_.Keys(3, 5);
  const auto response = PushNow(
      one_.shard(), Message(one_.session(), {one_.Push(3, 1, keys), one_.Push(3, 2, keys)}));
  EXPECT_EQ(response.results[0].counts[0].rows_created, 5U);
  EXPECT_EQ(response.results[1].counts[0].rows_updated, 5U);
  EXPECT_EQ(response.results[1].applied_lsn, 2U);
  const float expected = 0.0F - MixedValue(keys[0], 0, 1) - MixedValue(keys[0], 0, 2);
  EXPECT_EQ(one_.Pull({keys[0]})[0], expected);
}

TEST_F(PushRules, LeaveADamagedNumberOpen) {
  const auto keys = one_.Keys(3, 5);
  auto push = one_.Push(3, 1, keys);
  push.bytes.back() ^= std::byte{1};
  const auto damaged = one_.Send(push);
  EXPECT_EQ(damaged.outcome, Outcome::kRetry);
  EXPECT_EQ(damaged.error.kind, ErrorKind::kDataLoss);
  EXPECT_EQ(one_.Stats().rows(), 0U);
  push.bytes.back() ^= std::byte{1};
  const auto sound = one_.Send(push);
  EXPECT_EQ(sound.outcome, Outcome::kApplied);
  EXPECT_FALSE(sound.duplicate);
}

TEST_F(PushRules, BindTheHeaderToTheNumberToo) {
  auto push = one_.Push(3, 1, one_.Keys(3, 5));
  push.header.tables[0].learning_rate = 2.0F;
  EXPECT_EQ(one_.Send(push).error.kind, ErrorKind::kDataLoss);
  EXPECT_EQ(one_.Stats().rows(), 0U);
}

TEST_F(PushRules, SkipClosesANumber) {
  const auto keys = one_.Keys(3, 2);
  const auto skip = Freeze(3, 1, Operation::kSkip, {});
  EXPECT_EQ(one_.Send(skip).outcome, Outcome::kApplied);
  const auto late = one_.Send(one_.Push(3, 1, keys));
  EXPECT_EQ(late.outcome, Outcome::kRefused) << "the abandoned bytes arrive late";
  EXPECT_EQ(one_.Stats().rows(), 0U);
  EXPECT_EQ(one_.Send(one_.Push(3, 2, keys)).outcome, Outcome::kApplied);
  const auto closed = one_.Send(Freeze(3, 2, Operation::kSkip, {}));
  EXPECT_TRUE(closed.duplicate);
  EXPECT_EQ(closed.counts.size(), 1U) << "a skip of an applied number gets its answer";
}

TEST_F(PushRules, RefuseAnUnknownSessionWhole) {
  const auto push = one_.Push(3, 1, one_.Keys(3, 2));
  const auto response = PushNow(one_.shard(), Message(one_.session() + 1, {push}));
  EXPECT_EQ(response.error.kind, ErrorKind::kSessionLost);
  EXPECT_EQ(response.error.shard, 0);
  EXPECT_TRUE(response.results.empty());
  EXPECT_EQ(one_.Stats().rows(), 0U);
}

TEST_F(PushRules, LeaveNumbersOpenThatWereRoutedByAnotherMap) {
  const auto push = one_.Push(3, 1, one_.Keys(3, 2));
  for (const bool timeline : {false, true}) {
    auto request = Message(one_.session(), {push});
    (timeline ? request.timeline : request.map_version) = 2;
    const auto response = PushNow(one_.shard(), std::move(request));
    EXPECT_EQ(response.results[0].outcome, Outcome::kRetry);
    EXPECT_EQ(response.results[0].error.kind, ErrorKind::kStaleMap);
  }
  EXPECT_EQ(one_.Send(push).outcome, Outcome::kApplied);
}

TEST_F(PushRules, LeaveNumbersOpenThatAreMeantForAnotherLifeOfTheShard) {
  auto push = one_.Push(3, 1, one_.Keys(3, 2));
  push.header.owner_epoch = one_.shard().server_start_id() + 1;
  EXPECT_EQ(one_.Send(push).error.kind, ErrorKind::kStaleMap);
  push.header.owner_epoch = one_.shard().server_start_id();
  EXPECT_EQ(one_.Send(push).outcome, Outcome::kApplied);
}

TEST(PushRulesOfTwoShards, LeaveNumbersOfForeignPartitionsOpen) {
  OneTable one(SgdSchema("t", kDim), {.shards = 2});
  EXPECT_EQ(one.Send(one.Push(31, 1, one.Keys(31, 2))).outcome, Outcome::kApplied);
  const auto foreign = one.Send(one.Push(32, 1, one.Keys(32, 2)));
  EXPECT_EQ(foreign.outcome, Outcome::kRetry);
  EXPECT_EQ(foreign.error.kind, ErrorKind::kStaleMap);
  EXPECT_EQ(one.Stats().rows(), 2U);
}

TEST_F(PushRules, RefusePartitionsAndSequencesThatDoNotExist) {
  auto push = one_.Push(3, 1, one_.Keys(3, 2));
  push.header.partition = 64;
  EXPECT_EQ(one_.Send(push).error.kind, ErrorKind::kInvalidArgument);
  EXPECT_EQ(one_.Send(one_.Push(3, 0, one_.Keys(3, 2))).error.kind, ErrorKind::kInvalidArgument);
  EXPECT_EQ(one_.Stats().rows(), 0U);
}

// What is refused for good: the number is consumed, and every retry gets the same answer.
class PermanentRefusal : public PushRules {
 protected:
  void Expect(const FrozenSubPush& push, ErrorKind kind) {
    const uint64_t rows = one_.Stats().rows();
    for (const bool again : {false, true}) {
      const auto result = one_.Send(push);
      EXPECT_EQ(result.outcome, Outcome::kRefused);
      EXPECT_EQ(result.error.kind, kind) << result.error.message;
      EXPECT_FALSE(result.error.message.empty());
      EXPECT_FALSE(result.error.hint.empty()) << result.error.message;
      EXPECT_EQ(result.duplicate, again);
    }
    EXPECT_EQ(one_.Stats().rows(), rows) << "nothing may change";
    const auto next = one_.Push(3, push.header.sequence + 1, one_.Keys(3, 1));
    EXPECT_EQ(one_.Send(next).outcome, Outcome::kApplied) << "the number is consumed";
  }

  TablePart Good() const {
    const auto keys = one_.Keys(3, 5);
    return one_.Part(keys, MixedRows(keys, kDim));
  }
  FrozenSubPush Freeze3(const TablePart& part, Operation operation = Operation::kPush) const {
    return Freeze(3, 1, operation, {part});
  }
};

TEST_F(PermanentRefusal, OfAnUnknownTable) {
  TablePart part = Good();
  part.table_id += 1;
  Expect(Freeze3(part), ErrorKind::kNotFound);
}

TEST_F(PermanentRefusal, OfAnotherDim) {
  TablePart part = Good();
  part.dim = 5;
  part.rows = MixedRows(part.keys, 5);
  Expect(Freeze3(part), ErrorKind::kSchemaMismatch);
}

TEST_F(PermanentRefusal, OfAKeyOfAnotherPartition) {
  TablePart part = Good();
  part.keys.back() = one_.Keys(4, 1)[0];
  Expect(Freeze3(part), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfStepZero) {
  TablePart part = Good();
  part.step = 0;
  Expect(Freeze3(part), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfANegativeLearningRate) {
  TablePart part = Good();
  part.learning_rate = -0.1F;
  Expect(Freeze3(part), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfALearningRateThatWouldMakeRowsInfinite) {
  TablePart part = Good();
  part.learning_rate = 1.1e15F;
  Expect(Freeze3(part), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfALearningRateThatIsNoNumber) {
  TablePart part = Good();
  part.learning_rate = std::numeric_limits<float>::quiet_NaN();
  Expect(Freeze3(part), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfATableThatIsNamedTwice) {
  Expect(Freeze(3, 1, Operation::kPush, {Good(), Good()}), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfASkipWithTables) {
  Expect(Freeze3(Good(), Operation::kSkip), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfAnUpsertedWeightThatIsNotFinite) {
  TablePart part = Good();
  part.rows[7] = std::numeric_limits<float>::infinity();
  Expect(Freeze3(part, Operation::kUpsert), ErrorKind::kInvalidArgument);
}

TEST_F(PermanentRefusal, OfAGradientInAnyColumnThatIsNotFinite) {
  const auto keys = one_.Keys(3, 5);
  uint64_t sequence = 0;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity(), 3e38F, -1.1e15F}) {
    for (size_t at = 0; at < keys.size() * kDim; ++at) {
      TablePart part = Good();
      part.rows[at] = bad;
      const auto result = one_.Send(Freeze(3, ++sequence, Operation::kPush, {part}));
      ASSERT_EQ(result.outcome, Outcome::kRefused) << bad << " at " << at;
      ASSERT_EQ(result.error.kind, ErrorKind::kInvalidArgument);
      const char* cause = std::isfinite(bad) ? "above the bound" : "NaN or infinite";
      ASSERT_NE(result.error.message.find(cause), std::string::npos) << result.error.message;
    }
  }
  EXPECT_EQ(one_.Stats().rows(), 0U);
  EXPECT_EQ(one_.Stats().gradients_refused(), sequence);
  EXPECT_EQ(one_.shard().counters().gradients_refused.value(), sequence);
}

TEST_F(PermanentRefusal, OfASumAboveTheBound) {
  const Key key = one_.Keys(3, 1)[0];
  const float most = 1e15F;
  TablePart part = one_.Part({key, key}, {0, most, 0, 0, 0, most, 0, 0});
  Expect(Freeze3(part), ErrorKind::kInvalidArgument);
  part.rows = {0, most, 0, 0, 0, -most, 0, 0};
  EXPECT_EQ(one_.Send(Freeze(3, 3, Operation::kPush, {part})).outcome, Outcome::kApplied);
}

TEST(PushToABoundedTable, RefusesAKeyOutOfRange) {
  auto schema = SgdSchema("t", kDim);
  schema.set_num_embeddings(1000);
  OneTable one(schema);
  auto keys = one.Keys(3, 3);
  ASSERT_LT(keys.back(), 1000U);
  Key outside = 1000;
  while (one.map().PartitionOf(outside, wire::TableSalt("t")) != 3) ++outside;
  keys.push_back(outside);
  const auto result = one.Send(one.Push(3, 1, keys));
  EXPECT_EQ(result.outcome, Outcome::kRefused);
  EXPECT_EQ(result.error.kind, ErrorKind::kKeyRange);
  EXPECT_EQ(one.Stats().rows(), 0U);
}

TEST(PushOfTwoTables, IsAllOrNothing) {
  OneTable one(SgdSchema("t", kDim));
  v1::CreateTableRequest request;
  *request.mutable_schema() = SgdSchema("u", 2);
  const uint32_t second = one.shard().CreateTable(request)->table().table_id();
  const auto keys = one.Keys(3, 5);
  const auto others = KeysOf(one.map(), "u", 3, 3);
  TablePart good = one.Part(keys, MixedRows(keys, kDim));
  TablePart bad{second, others, MixedRows(others, 2), 2};
  bad.rows[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(one.Send(Freeze(3, 1, Operation::kPush, {good, bad})).outcome, Outcome::kRefused);
  EXPECT_EQ(one.Stats().rows(), 0U);
  bad.rows[5] = 1.0F;
  const auto applied = one.Send(Freeze(3, 2, Operation::kPush, {good, bad}));
  ASSERT_EQ(applied.counts.size(), 2U);
  EXPECT_EQ(applied.counts[0].rows_created, 5U);
  EXPECT_EQ(applied.counts[1].table_id, second);
  EXPECT_EQ(applied.counts[1].rows_created, 3U);
}

TEST(PushOfTwoTables, DoesNotTakeGoodNeighboursDownWithARefusedSubPush) {
  OneTable one(SgdSchema("t", kDim));
  const auto first = one.Keys(3, 5);
  const auto second = one.Keys(4, 6);
  const auto third = one.Keys(5, 7);
  TablePart bad = one.Part(second, MixedRows(second, kDim));
  bad.rows[0] = std::numeric_limits<float>::quiet_NaN();
  const auto response =
      PushNow(one.shard(),
              Message(one.session(), {one.Push(3, 1, first), Freeze(4, 1, Operation::kPush, {bad}),
                                      one.Push(5, 1, third)}));
  EXPECT_EQ(response.results[0].counts[0].rows_created, 5U);
  EXPECT_EQ(response.results[1].outcome, Outcome::kRefused);
  EXPECT_EQ(response.results[2].counts[0].rows_created, 7U);
  EXPECT_EQ(one.Pull({third[6]})[3], -MixedValue(third[6], 3, 1));
  EXPECT_EQ(one.Stats().rows(), 12U);
}

}  // namespace
}  // namespace hotrow::test
