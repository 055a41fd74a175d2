// A bound on the bytes of requests and replies that a client has in flight.
//
// Thread safety: every method, from any thread. A request above the whole budget waits until it is
// alone, so that it is served and not refused for ever.

#pragma once

#include <algorithm>
#include <cstdint>

#include "client/src/interruptible.h"
#include "client/src/time_point.h"
#include "kernels/base/mutex.h"

namespace hotrow::client {

class ByteBudget {
 public:
  explicit ByteBudget(int64_t bytes) : total_(std::max<int64_t>(bytes, 1)) {}

  // False when there was no room until the deadline, or the wait was interrupted. Release the same
  // number later.
  bool Acquire(int64_t bytes, TimePoint deadline) {
    const int64_t share = std::min(bytes, total_);
    MutexLock lock(mutex_);
    while (used_ + share > total_) {
      if (!WaitUntil(freed_, mutex_, deadline) && used_ + share > total_) return false;
    }
    used_ += share;
    return true;
  }

  void Release(int64_t bytes) {
    MutexLock lock(mutex_);
    used_ -= std::min(bytes, total_);
    freed_.NotifyAll();
  }

 private:
  const int64_t total_;
  Mutex mutex_;
  CondVar freed_;
  int64_t used_ HOTROW_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotrow::client
