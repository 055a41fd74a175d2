// Monotonic time of the client: deadlines and retry delays.
//
// Thread safety: pure functions.

#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace hotrow::client {

using TimePoint = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

inline TimePoint Now() { return std::chrono::steady_clock::now(); }

// Later than anything that is waited for, and far from overflow.
inline TimePoint Never() { return TimePoint::max() - std::chrono::hours(24 * 365); }

// The end of a timeout that starts now. Long ones never end.
inline TimePoint DeadlineIn(milliseconds timeout) {
  const TimePoint now = Now();
  return timeout >= std::chrono::hours(24 * 365) ? Never() : now + timeout;
}

inline milliseconds TimeLeft(TimePoint deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Now()));
}

// Delay before attempt number `attempt` (1 is the first retry): 5 ms doubling to 640 ms, each
// shortened at random by up to a half so that clients do not come back together.
inline milliseconds Backoff(int attempt) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const int64_t full = int64_t{5} << std::clamp(attempt - 1, 0, 7);
  return milliseconds(std::uniform_int_distribution<int64_t>((full + 1) / 2, full)(random));
}

// As Backoff, but not before a shard's advice, which it gives to all clients alike: each comes
// later by up to half of it.
inline milliseconds Backoff(int attempt, uint32_t advice_ms) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const int64_t advice = advice_ms;
  const milliseconds advised(
      std::uniform_int_distribution<int64_t>(advice, advice + advice / 2)(random));
  return std::max(advised, Backoff(attempt));
}

}  // namespace hotrow::client
