// What windows keep of their answers, and how much that may be in total.

#include "server/shard/push_window.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hotrow::test {
namespace {

using wire::ErrorKind;

wire::SubPushResult FullAnswer(int64_t refused) {
  wire::SubPushResult answer;
  answer.outcome = wire::Outcome::kApplied;
  answer.applied_lsn = 7;
  answer.counts = {{1, 5, 2, 0}, {2, 0, 0, static_cast<uint32_t>(refused)}};
  answer.error.kind = ErrorKind::kCapacityFull;
  answer.error.message = "table 't': new keys found no room";
  answer.refused_keys.assign(refused, Key{3});
  return answer;
}

TEST(PushWindow, KeepsAnAnswerAsItWas) {
  KeptAnswers all;
  PushWindow window(all);
  EXPECT_EQ(all.used_bytes(), 0) << "nothing is allocated before the first number";
  window.Consume(11, FullAnswer(9));
  const wire::SubPushResult kept = window.Answer(1);
  EXPECT_EQ(kept.counts.size(), 2U);
  EXPECT_EQ(kept.refused_keys.size(), 9U);
  EXPECT_EQ(kept.error.message, FullAnswer(9).error.message);
  EXPECT_EQ(window.content_hash(1), 11U);
}

TEST(PushWindow, BeyondTheLimitKeepsWhatTheClientDecidesBy) {
  KeptAnswers all{.max_extra_bytes = 1000};
  PushWindow window(all);
  window.Consume(11, FullAnswer(1000));
  const wire::SubPushResult kept = window.Answer(1);
  EXPECT_EQ(kept.outcome, wire::Outcome::kApplied);
  EXPECT_EQ(kept.applied_lsn, 7U);
  EXPECT_EQ(kept.error.kind, ErrorKind::kCapacityFull);
  ASSERT_EQ(kept.counts.size(), 1U);
  EXPECT_EQ(kept.counts[0].table_id, 2U);
  EXPECT_EQ(kept.counts[0].rows_refused, 1000U);
  EXPECT_TRUE(kept.refused_keys.empty());
  EXPECT_EQ(all.extra_bytes, 0) << "what is kept in short costs nothing beside the ring";
}

TEST(PushWindow, NeverHoldsMoreThanIsReckonedForIt) {
  KeptAnswers all{.max_extra_bytes = 1 << 20};
  std::vector<std::unique_ptr<PushWindow>> windows;
  for (int w = 0; w < 33; ++w) {
    windows.push_back(std::make_unique<PushWindow>(all));
    for (uint64_t i = 1; i <= 2 * PushWindow::kAnswers + 3; ++i) {
      windows.back()->Consume(i, FullAnswer(1000));
      ASSERT_LE(all.extra_bytes, all.max_extra_bytes);
    }
    ASSERT_LE(all.ring_bytes, (w + 1) * PushWindow::kMostRingBytes);
  }
  EXPECT_EQ(windows.back()->Answer(2 * PushWindow::kAnswers).counts[0].rows_refused, 1000U);
}

TEST(PushWindow, ARefusalThatIsKeptInShortIsARefusalOfTheSameKind) {
  KeptAnswers all{.max_extra_bytes = 0};
  PushWindow window(all);
  wire::SubPushResult refused;
  refused.outcome = wire::Outcome::kRefused;
  refused.error.kind = ErrorKind::kNotFound;
  refused.error.message = "there is no such table";
  window.Consume(11, refused);
  EXPECT_EQ(window.Answer(1).outcome, wire::Outcome::kRefused);
  EXPECT_EQ(window.Answer(1).error.kind, ErrorKind::kNotFound);
  EXPECT_FALSE(window.Answer(1).error.message.empty());
}

TEST(PushWindow, CountsWhatItHoldsAndGivesItBack) {
  KeptAnswers all;
  {
    PushWindow window(all);
    PushWindow other(all);
    for (uint64_t i = 1; i <= 3 * PushWindow::kAnswers; ++i) {
      window.Consume(i, FullAnswer(static_cast<int64_t>(i % 33)));
      if (i % 2 == 0) other.Consume(i, {});
    }
    EXPECT_TRUE(window.Keeps(2 * PushWindow::kAnswers + 1));
    EXPECT_FALSE(window.Keeps(PushWindow::kAnswers));
    EXPECT_GT(all.used_bytes(), 0);
    EXPECT_LT(all.used_bytes(), 128 << 10);
  }
  EXPECT_EQ(all.used_bytes(), 0);
}

}  // namespace
}  // namespace hotrow::test
