#include "kernels/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

namespace hotrow::testing {
namespace {

template <const auto& kBounds>
void ExpectAscending() {
  EXPECT_TRUE(std::is_sorted(kBounds.begin(), kBounds.end(), std::less_equal<>()));
}

TEST(Histogram, BoundsAscend) {
  ExpectAscending<kDurationBounds>();
  ExpectAscending<kKeyCountBounds>();
  ExpectAscending<kStepBounds>();
}

TEST(Histogram, ABoundBelongsToItsOwnBucket) {
  for (size_t i = 0; i < kKeyCountBounds.size(); ++i) {
    KeyCountHistogram histogram;
    histogram.Add(kKeyCountBounds[i]);
    histogram.Add(kKeyCountBounds[i] + 1);
    KeyCountHistogram::Totals totals;
    histogram.AddTo(totals);
    EXPECT_EQ(totals.counts[i], 1u) << i;
    EXPECT_EQ(totals.counts[i + 1], 1u) << i;
    EXPECT_EQ(totals.sum, 2 * kKeyCountBounds[i] + 1);
  }
}

TEST(Histogram, TheSmallestAndTheLargestValueHavePlaces) {
  StepHistogram histogram;
  histogram.Add(0);
  histogram.Add(~uint64_t{0});
  StepHistogram::Totals totals;
  histogram.AddTo(totals);
  EXPECT_EQ(totals.counts.front(), 1u);
  EXPECT_EQ(totals.counts.back(), 1u);
}

TEST(Histogram, SeveralAddUpAndNoValueOfAnyThreadIsLost) {
  constexpr int kThreads = 4;
  constexpr uint64_t kValues = 20'000;
  DurationHistogram shared;
  DurationHistogram other;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 1; i <= kValues; ++i) shared.Add(i * 1000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  other.Add(7);
  DurationHistogram::Totals totals;
  shared.AddTo(totals);
  other.AddTo(totals);
  const auto count = std::accumulate(totals.counts.begin(), totals.counts.end(), uint64_t{0});
  EXPECT_EQ(count, kThreads * kValues + 1);
  EXPECT_EQ(totals.sum, kThreads * 1000 * kValues * (kValues + 1) / 2 + 7);
  EXPECT_EQ(totals.counts[0], kThreads * 50u + 1);  // up to 50 us
}

}  // namespace
}  // namespace hotrow::testing
