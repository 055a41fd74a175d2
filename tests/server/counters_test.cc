// What a shard counts for its metrics.

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::Operation;
using wire::Outcome;

uint64_t CountOf(const v1::Histogram& histogram) {
  EXPECT_EQ(histogram.counts_size(), histogram.bounds_size() + 1);
  return std::accumulate(histogram.counts().begin(), histogram.counts().end(), uint64_t{0});
}

v1::GetStatsResponse All(OneTable& one) { return *one.shard().GetStats(""); }

uint64_t Applications(OneTable& one, const std::string& optimizer) {
  uint64_t count = 0;
  const v1::GetStatsResponse stats = All(one);
  for (const v1::OptimizerTimes& times : stats.optimizer_times()) {
    if (times.optimizer() == optimizer) count += CountOf(times.apply_ns());
  }
  return count;
}

FrozenSubPush AtStep(OneTable& one, uint32_t partition, uint64_t sequence, uint64_t step) {
  TablePart part = one.Part(one.Keys(partition, 1), {1.0F, 1.0F});
  part.step = step;
  return Freeze(partition, sequence, Operation::kPush, {part});
}

TEST(Counters, APushIsAsStaleAsItsStepLiesBehindTheHighest) {
  OneTable one(SgdSchema("t", 2), {.strands = 1});
  one.Send(AtStep(one, 3, 1, 10));
  one.Send(AtStep(one, 3, 2, 7));
  one.Send(AtStep(one, 3, 3, 10));
  one.Send(AtStep(one, 4, 1, 11));
  const v1::GetStatsResponse stats = All(one);
  const v1::Histogram& staleness = stats.push_staleness_steps();
  EXPECT_EQ(CountOf(staleness), 4u);
  EXPECT_EQ(staleness.sum(), 3u);
  EXPECT_EQ(staleness.bounds(0), 0u);
  EXPECT_EQ(staleness.counts(0), 3u);
}

TEST(Counters, ApplyingIsTimedByOptimizerAndOutlivesItsTable) {
  OneTable one(AdagradSchema("t", 2), {.strands = 1});
  EXPECT_EQ(Applications(one, "adagrad"), 0u);
  one.Send(one.Push(3, 1, one.Keys(3, 4)));
  one.Send(one.Push(3, 2, one.Keys(3, 4)));
  EXPECT_EQ(Applications(one, "adagrad"), 2u);
  EXPECT_EQ(Applications(one, "sgd"), 0u);
  ASSERT_TRUE(one.shard().DropTable("t").ok());
  EXPECT_EQ(Applications(one, "adagrad"), 2u) << "a counter that falls looks like a restart";
}

TEST(Counters, ApplyingIsTimedInPiecesThatCanBeCompared) {
  OneTable one(SgdSchema("t", 2), {.strands = 1});
  one.Send(one.Push(3, 1, one.Keys(3, 1024)));
  EXPECT_EQ(Applications(one, "sgd"), 1u);
  one.Send(one.Push(3, 2, one.Keys(3, 1025)));
  EXPECT_EQ(Applications(one, "sgd"), 3u) << "1,024 rows and the last one";
  EXPECT_EQ(one.Stats().rows_pushed(), 2049u);
}

TEST(Counters, ASubPushCountsOnceForEachTimeThatItCame) {
  OneTable one(SgdSchema("t", 2), {.strands = 1});
  const ShardCounters& counters = one.shard().counters();
  const FrozenSubPush first = one.Push(3, 1, one.Keys(3, 1));
  one.Send(first);
  one.Send(first);
  EXPECT_EQ(counters.sub_pushes_applied.value(), 1u);
  EXPECT_EQ(counters.sub_pushes_duplicate.value(), 1u);
  EXPECT_EQ(one.Send(one.Push(3, 1, one.Keys(3, 2))).outcome, Outcome::kRefused);
  EXPECT_EQ(counters.content_conflicts.value(), 1u);
  EXPECT_EQ(counters.sub_pushes_refused.value(), 1u);
  FrozenSubPush damaged = one.Push(3, 2, one.Keys(3, 2));
  damaged.header.content_hash ^= 1;
  EXPECT_EQ(one.Send(damaged).outcome, Outcome::kRetry);
  EXPECT_EQ(counters.damaged_sub_pushes.value(), 1u);
  EXPECT_EQ(one.Send(one.Push(3, 9, one.Keys(3, 2))).outcome, Outcome::kRetry);
  EXPECT_EQ(counters.sub_pushes_retried.value(), 2u);
}

TEST(Counters, KeysAreCountedAsTheyCameAndWithoutRepeats) {
  OneTable one(SgdSchema("t", 2));
  const auto keys = one.Keys(3, 2);
  const TablePart part = one.Part({keys[0], keys[1], keys[0]}, {1, 2, 3, 4, 5, 6});
  one.Send(Freeze(3, 1, Operation::kPush, {part}));
  one.Send(Freeze(3, 2, Operation::kUpsert, {part}));
  EXPECT_EQ(one.Stats().keys_pushed(), 3u) << "an upsert is no push";
  EXPECT_EQ(one.Stats().keys_pushed_unique(), 2u);
}

TEST(Counters, GradientsThatAreNotFiniteAreToldFromThoseThatAreTooLarge) {
  v1::TableSchema schema = SgdSchema("t", 2);
  schema.set_gradient_bound(10.0F);
  OneTable one(schema);
  const auto keys = one.Keys(3, 1);
  const auto push = [&](uint64_t sequence, float value) {
    return one.Send(Freeze(3, sequence, Operation::kPush, {one.Part(keys, {1.0F, value})})).outcome;
  };
  EXPECT_EQ(push(1, 11.0F), Outcome::kRefused);
  EXPECT_EQ(push(2, std::numeric_limits<float>::quiet_NaN()), Outcome::kRefused);
  EXPECT_EQ(push(3, -std::numeric_limits<float>::infinity()), Outcome::kRefused);
  EXPECT_EQ(push(4, 10.0F), Outcome::kApplied);
  EXPECT_EQ(one.Stats().gradients_refused(), 3u);
  EXPECT_EQ(one.Stats().gradients_nonfinite(), 2u);
}

TEST(Counters, SlotsAreThePlacesThatRowsHave) {
  OneTable one(SgdSchema("t", 2));
  const uint64_t empty = one.Stats().slots();
  EXPECT_GE(empty, 32u);
  for (uint32_t partition = 0; partition < 64; ++partition) {
    one.Send(one.Push(partition, 1, one.Keys(partition, 100)));
  }
  EXPECT_EQ(one.Stats().rows(), 6400u);
  EXPECT_GE(one.Stats().slots(), 6400u);
}

TEST(RequestTimes, ArePassedOnInTheirOrder) {
  OneTable one(SgdSchema("t", 2));
  const auto begin = std::chrono::steady_clock::now();
  const PullReply reply = PullNow(one.shard(), PullMessage(one.table_id(), {1, 2, 3}));
  const auto end = std::chrono::steady_clock::now();
  ASSERT_TRUE(reply.times.complete());
  EXPECT_LE(begin, reply.times.shared_out);
  EXPECT_LE(reply.times.shared_out, reply.times.taken_up);
  EXPECT_LE(reply.times.taken_up, reply.times.worked);
  EXPECT_LE(reply.times.worked, end);
  const PullReply refused = PullNow(one.shard(), PullMessage(one.table_id() + 1, {1}));
  EXPECT_FALSE(refused.times.complete()) << "no strand was asked";
}

}  // namespace
}  // namespace hotrow::test
