// Clocks and the median, as every benchmark here needs them.
//
// Thread safety: pure functions. Units: seconds.

#pragma once

#include <time.h>

#include <algorithm>
#include <vector>

namespace hotrow::bench {

inline double SecondsOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double WallSeconds() { return SecondsOf(CLOCK_MONOTONIC); }
// Processor time of this thread: other programs take wall time from all figures unevenly.
inline double ThreadSeconds() { return SecondsOf(CLOCK_THREAD_CPUTIME_ID); }
// Of all threads of this process.
inline double ProcessSeconds() { return SecondsOf(CLOCK_PROCESS_CPUTIME_ID); }

// values is not empty; 0 <= share <= 1.
inline double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

inline double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

}  // namespace hotrow::bench
