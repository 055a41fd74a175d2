// How long to wait before something is tried again.
//
// Thread safety: pure functions but for random numbers of each thread's own.

#pragma once

#include <algorithm>
#include <random>

#include "client/src/time_point.h"

namespace hotrow::client {

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
