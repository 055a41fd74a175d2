// Histogram: how many of the values that were seen lie at or below each of some fixed bounds, and
// their sum; what a metric of times or sizes is made of.
//
// Thread safety: every method, from any thread; relaxed atomics, so a reader may see a value in the
// counts and not yet in the sum. Ownership: holds its counts. Units: those of the bounds, which
// are inclusive and ascending. Cost: two additions without a lock; writers that share one also
// share its cache lines, so each thread or strand that writes often has one of its own and readers
// add them up. Bounds: none; counts wrap after 2^64 values.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hotrow {

// 50 us to 5 s, in nanoseconds: from a small pull to a request that waits behind others.
inline constexpr std::array<uint64_t, 16> kDurationBounds = {
    50'000,      100'000,       200'000,       500'000,      1'000'000,   2'000'000,
    5'000'000,   10'000'000,    20'000'000,    50'000'000,   100'000'000, 200'000'000,
    500'000'000, 1'000'000'000, 2'000'000'000, 5'000'000'000};
// Keys of one message, which has room for half a million.
inline constexpr std::array<uint64_t, 10> kKeyCountBounds = {1,    4,    16,    64,    256,
                                                             1024, 4096, 16384, 65536, 262144};
// Training steps that a push lies behind.
inline constexpr std::array<uint64_t, 12> kStepBounds = {0,  1,  2,   4,   8,   16,
                                                         32, 64, 128, 256, 512, 1024};

// What histograms of the same bounds hold together. (n) a count for each bound; the last one for
// all values above them.
template <size_t n>
struct HistogramTotals {
  std::array<uint64_t, n + 1> counts{};
  uint64_t sum = 0;
};

template <const auto& kBounds>
class Histogram {
 public:
  using Totals = HistogramTotals<kBounds.size()>;

  void Add(uint64_t value) {
    size_t bucket = 0;
    for (const uint64_t bound : kBounds) bucket += value > bound ? 1 : 0;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  // Adds what this one holds to `totals`.
  void AddTo(Totals& totals) const {
    for (size_t i = 0; i < counts_.size(); ++i) {
      totals.counts[i] += counts_[i].load(std::memory_order_relaxed);
    }
    totals.sum += sum_.load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts_{};  // relaxed: orders nothing
  std::atomic<uint64_t> sum_{0};                                    // relaxed: orders nothing
};

using DurationHistogram = Histogram<kDurationBounds>;  // of nanoseconds
using KeyCountHistogram = Histogram<kKeyCountBounds>;
using StepHistogram = Histogram<kStepBounds>;

}  // namespace hotrow
