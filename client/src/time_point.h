// Monotonic time of the client.
//
// Thread safety: pure functions.

#pragma once

#include <algorithm>
#include <chrono>

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

// How long a call waits. With `after_outage` the time in which a shard that it needs is away does
// not count: recovery_timeout ends that.
struct Patience {
  TimePoint deadline = Never();
  milliseconds after_outage{0};  // 0: the deadline stands

  bool waits_out_outages() const { return after_outage.count() > 0; }
  // To be told again and again while a shard is away.
  void Away(TimePoint now) {
    if (waits_out_outages()) deadline = std::max(deadline, now + after_outage);
  }
};

inline milliseconds TimeLeft(TimePoint deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Now()));
}

}  // namespace hotrow::client
