// A network that drops, repeats and reorders messages loses no push and applies none twice.
//
// The long run: HOTROW_FAULT_PUSHES=100000 build/release/bin/fault_test --gtest_filter='Pushes*'
// HOTROW_FAULT_SEED repeats the lots of another run.

#include <cstdlib>
#include <random>

#include "tests/client/local_servers.h"
#include "tests/fault/push_run.h"

namespace hotrow::testing {
namespace {

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class PushesThroughFaults : public ::testing::Test {
 protected:
  static PushRunReport Run(PushRunOptions options) {
    options.seed = NumberFrom("HOTROW_FAULT_SEED", std::random_device{}());
    PushRunReport report = RunPushes(options);
    std::printf("%s", report.text.c_str());
    return report;
  }
  static void ExpectAppliedOnce(const PushRunReport& report) {
    EXPECT_EQ(report.failed_pushes, 0) << report.first_error;
    EXPECT_EQ(report.verdict.lost, 0);
    EXPECT_EQ(report.verdict.twice, 0);
    EXPECT_EQ(report.verdict.wrong_rows, 0);
    EXPECT_LT(report.verdict.highest_sum, PushOracle::kMostWeight);
    // Every answer is the one answer to its push, however often it was asked for.
    EXPECT_EQ(report.wrong_counts, 0);
    EXPECT_EQ(report.rows_created, report.verdict.keys);
  }
};

TEST_F(PushesThroughFaults, AreNeitherLostNorAppliedTwice) {
  const PushRunReport report =
      Run({.pushes = static_cast<int64_t>(NumberFrom("HOTROW_FAULT_PUSHES", 5000))});
  ExpectAppliedOnce(report);
  EXPECT_GT(report.duplicates, 0u);
  EXPECT_FALSE(report.is_void()) << "too kind or too slow to mean anything";
}

// A shard refuses what comes too early instead of keeping it (ARCHITECTURE.md).
TEST_F(PushesThroughFaults, ThatOnlyReorderAreAppliedOnceToo) {
  const PushRunReport sound = Run({.rates = {}});
  ExpectAppliedOnce(sound);
  const PushRunReport report = Run({.rates = {.reorder = 0.06}});
  ExpectAppliedOnce(report);
  EXPECT_GT(std::min(report.requests.reordered, report.replies.reordered), 0.04);
  EXPECT_EQ(report.cuts, 0);
}

TEST(PushOracle, SeesALostPushAndOneThatWasAppliedTwice) {
  PushOracle oracle(2);
  std::vector<float> rows(4, 0.0F);
  for (uint64_t id = 1; id <= 3; ++id) {
    oracle.Note(id, {0, 1});
    for (int key = 0; key < 2; ++key) {
      rows[key * 2] -= 1.0F;
      rows[key * 2 + 1] -= PushOracle::NumberOf(id);
    }
  }
  EXPECT_TRUE(oracle.Judge(rows).good());
  std::vector<float> lost = rows;
  lost[2] += 1.0F;
  lost[3] += PushOracle::NumberOf(2);
  EXPECT_EQ(oracle.Judge(lost).lost, 1);
  std::vector<float> twice = rows;
  twice[0] -= 1.0F;
  twice[1] -= PushOracle::NumberOf(2);
  EXPECT_EQ(oracle.Judge(twice).twice, 1);
  // One lost and another one applied twice: the first column alone would be right.
  std::vector<float> both = rows;
  both[1] += PushOracle::NumberOf(1) - PushOracle::NumberOf(2);
  const PushOracle::Verdict verdict = oracle.Judge(both);
  EXPECT_EQ(verdict.lost + verdict.twice, 0);
  EXPECT_EQ(verdict.wrong_rows, 1);
}

TEST(PushRunReport, IsVoidWhenTheNetworkWasTooKindOrTheRunTooSlow) {
  const FaultShares enough{0.05, 0.05, 0.05};
  const FaultShares few{0.05, 0.03, 0.05};
  EXPECT_FALSE(
      (PushRunReport{.pushes_a_second = 100, .requests = enough, .replies = enough}.is_void()));
  EXPECT_TRUE(
      (PushRunReport{.pushes_a_second = 100, .requests = enough, .replies = few}.is_void()));
  EXPECT_TRUE(
      (PushRunReport{.pushes_a_second = 10, .requests = enough, .replies = enough}.is_void()));
}

}  // namespace
}  // namespace hotrow::testing
