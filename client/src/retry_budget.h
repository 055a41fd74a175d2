// How often requests may be sent again to a shard that refused them for want of room: for a tenth
// of all requests, and a few times a second, so that retries do not become the load that they
// suffer from.
//
// Thread safety: none; guarded by its owner. Bounds: kMost retries can be saved up. A resend after
// a broken connection is no retry in this sense: it follows from no refusal, and each connection
// brings at most one of each request.

#pragma once

#include <algorithm>
#include <chrono>

#include "client/src/time_point.h"

namespace hotrow::client {

class RetryBudget {
 public:
  static constexpr double kShare = 0.1;
  // So that a client that is refused everything still finds out when there is room again.
  static constexpr double kPerSecond = 5.0;
  static constexpr double kMost = 10.0;

  explicit RetryBudget(TimePoint now) : filled_at_(now) {}

  // A request was sent for the first time.
  void CountRequest() { retries_ = std::min(kMost, retries_ + kShare); }

  // Leave for one retry; false when there is none left.
  bool TryTake(TimePoint now) {
    Fill(now);
    if (retries_ < 1.0) return false;
    retries_ -= 1.0;
    return true;
  }

  // When there is one, without further requests.
  TimePoint NextAt(TimePoint now) {
    Fill(now);
    const double missing = std::max(0.0, 1.0 - retries_);
    const std::chrono::duration<double> wait(missing / kPerSecond);
    return now + std::chrono::ceil<milliseconds>(wait);
  }

 private:
  void Fill(TimePoint now) {
    const std::chrono::duration<double> passed = now - filled_at_;
    if (passed.count() <= 0.0) return;
    retries_ = std::min(kMost, retries_ + passed.count() * kPerSecond);
    filled_at_ = now;
  }

  double retries_ = kMost;
  TimePoint filled_at_;
};

}  // namespace hotrow::client
