#include "server/tiers/score_policy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hotrow::testing {
namespace {

TEST(ScorePolicy, LruGoesByTheLastUse) {
  ScorePolicy policy(EvictionKind::kLru, 1);
  policy.Begin(8, 32, 1);
  const uint32_t first = policy.OnPull(0);
  policy.Begin(8, 32, 1);
  const uint32_t second = policy.OnPush(0);
  EXPECT_LT(0, first);
  EXPECT_LT(first, second);
  EXPECT_EQ(policy.OnPull(first), second);
}

TEST(ScorePolicy, LruTicksByRowsUsed) {
  ScorePolicy policy(EvictionKind::kLru, 1);
  const int64_t slots = int64_t{1} << 24;
  const uint32_t begin = policy.now();
  for (int64_t rows = 0; rows < 4 * slots; rows += 8192) policy.Begin(8192, slots, 1);
  EXPECT_NEAR(policy.now() - begin, 4 * 1024, 8)
      << "1024 ticks for as many rows as there are slots";
}

TEST(ScorePolicy, TheClockIsNeverBehindARowThatReturns) {
  ScorePolicy policy(EvictionKind::kLru, 1);
  EXPECT_EQ(policy.OnReturn(500), 500);
  EXPECT_EQ(policy.now(), 500);
  policy.Begin(1, 1, 1);
  EXPECT_GT(policy.OnPull(500), 500);
}

TEST(ScorePolicy, LfuWithoutDecayOrdersByTheNumberOfUses) {
  ScorePolicy policy(EvictionKind::kLfu, 1);
  uint32_t score = 0;
  for (int uses = 1; uses <= 1000; ++uses) {
    policy.Begin(1, 32, static_cast<uint64_t>(uses));
    const uint32_t next = policy.OnPull(score);
    ASSERT_GT(next, score) << uses;
    score = next;
    ASSERT_NEAR(score / 65536.0, std::log2(uses), 0.02) << uses;
  }
}

// 2^score is the sum of decay^(now - step) over all uses, on a scale that slides with the step.
TEST(ScorePolicy, LfuDecays) {
  const double decay = 0.9;
  ScorePolicy policy(EvictionKind::kLfu, decay);
  uint32_t score = 0;
  double sum = 0;
  for (uint64_t step = 1; step <= 200; ++step) {
    policy.Begin(1, 32, step);
    sum *= decay;
    if (step % 3 != 0) continue;
    score = policy.OnPush(score);
    sum += 1;
    const double scale = static_cast<double>(step) * -std::log2(decay);
    ASSERT_NEAR(score / 65536.0 - scale, std::log2(sum), 0.03) << step;
  }
  // A row used ten times long ago comes after one used once now.
  ScorePolicy later(EvictionKind::kLfu, decay);
  uint32_t old_row = 0;
  later.Begin(1, 32, 1);
  for (int i = 0; i < 10; ++i) old_row = later.OnPush(old_row);
  later.Begin(1, 32, 100);
  EXPECT_GT(later.OnPush(0), old_row);
}

TEST(ScorePolicy, ScoresSaturate) {
  ScorePolicy policy(EvictionKind::kLfu, 0.5);
  policy.Begin(1, 32, UINT64_MAX);
  EXPECT_EQ(policy.OnPush(0), UINT32_MAX);
  EXPECT_EQ(policy.OnPush(UINT32_MAX), UINT32_MAX);
}

TEST(ScorePolicy, TimeToLiveGoesByTheStepOfTheLastPush) {
  ScorePolicy policy(EvictionKind::kTimeToLive, 1);
  policy.Begin(1, 32, 41);
  EXPECT_EQ(policy.OnPush(7), 41);
  EXPECT_EQ(policy.OnPull(7), 7);
}

}  // namespace
}  // namespace hotrow::testing
