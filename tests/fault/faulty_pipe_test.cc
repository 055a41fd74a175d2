#include "tests/fault/faulty_pipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace hotrow::testing {
namespace {

std::vector<int> TakeAll(FaultyPipe<int>& pipe) {
  std::vector<int> taken;
  while (const std::optional<int> message = pipe.Take()) taken.push_back(*message);
  return taken;
}

class AFaultyPipe : public ::testing::Test {
 protected:
  std::vector<int> Carry(const FaultRates& rates, int messages) {
    FaultyPipe<int> pipe(rates, random_, counts_);
    for (int i = 0; i < messages; ++i) pipe.Put(i);
    lost_ = pipe.lost();
    std::vector<int> taken = TakeAll(pipe);
    pipe.ReleaseHeld();
    EXPECT_FALSE(pipe.holding());
    for (const int message : TakeAll(pipe)) taken.push_back(message);
    return taken;
  }

  std::mt19937_64 random_{7};
  FaultCounts counts_;
  bool lost_ = false;
};

TEST_F(AFaultyPipe, CarriesEverythingInOrderWithoutFaults) {
  EXPECT_EQ(Carry({}, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(counts_.messages, 3);
  EXPECT_FALSE(lost_);
}

TEST_F(AFaultyPipe, CountsWhatItDoesToMessages) {
  constexpr int kMessages = 20000;
  const std::vector<int> taken =
      Carry({.drop = 0.05, .duplicate = 0.1, .reorder = 0.15}, kMessages);
  EXPECT_TRUE(lost_);
  std::map<int, int> copies;
  for (const int message : taken) ++copies[message];
  int64_t twice = 0;
  for (const auto& [message, count] : copies) twice += count == 2 ? 1 : 0;
  EXPECT_EQ(counts_.dropped, kMessages - static_cast<int64_t>(copies.size()));
  EXPECT_EQ(counts_.duplicated, twice);
  EXPECT_NEAR(static_cast<double>(counts_.dropped), 0.05 * kMessages, 200);
  EXPECT_NEAR(static_cast<double>(counts_.duplicated), 0.1 * kMessages, 300);
  EXPECT_NEAR(static_cast<double>(counts_.reordered), 0.15 * kMessages, 300);
}

TEST_F(AFaultyPipe, SendsAReorderedMessageBehindAtMostThreeLaterOnes) {
  const std::vector<int> taken = Carry({.reorder = 0.3}, 1000);
  ASSERT_EQ(taken.size(), 1000u);
  int late = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto at = std::find(taken.begin(), taken.end(), i);
    const auto overtakers = std::count_if(taken.begin(), at, [&](int other) { return other > i; });
    late += overtakers > 0 ? 1 : 0;
    EXPECT_LE(overtakers, 3 * FaultyPipe<int>::kMostBehind);
  }
  EXPECT_GE(late, counts_.reordered);
}

TEST_F(AFaultyPipe, DoesNotCountAHeldMessageThatNothingOvertook) {
  EXPECT_EQ(Carry({.reorder = 1.0}, 5), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(counts_.reordered, 0);
}

}  // namespace
}  // namespace hotrow::testing
