// The place where the result of an asynchronous call is left for its Future.
//
// Thread safety: Set once from any thread; Wait by one thread at a time.

#pragma once

#include <optional>
#include <utility>

#include "client/src/interruptible.h"
#include "client/src/time_point.h"
#include "hotrow/client.h"
#include "kernels/base/mutex.h"

namespace hotrow {

template <typename T>
struct Future<T>::State {
 public:
  // False when the waiter has given up: then the result is the caller's to report.
  bool Set(absl::StatusOr<T> result) {
    MutexLock lock(mutex_);
    result_.emplace(std::move(result));
    ready_.NotifyAll();
    return !abandoned_;
  }

  // The result, or nothing when the deadline passed or the wait was interrupted.
  std::optional<absl::StatusOr<T>> Take(client::TimePoint deadline) {
    MutexLock lock(mutex_);
    while (!result_.has_value()) {
      if (!client::WaitUntil(ready_, mutex_, deadline) && !result_.has_value()) return std::nullopt;
    }
    return std::exchange(result_, std::optional<absl::StatusOr<T>>(absl::FailedPreconditionError(
                                      "the result of this future has been taken")));
  }

  // Take by a waiter that does not come back.
  std::optional<absl::StatusOr<T>> TakeOrAbandon(client::TimePoint deadline) {
    std::optional<absl::StatusOr<T>> result = Take(deadline);
    if (result.has_value()) return result;
    MutexLock lock(mutex_);
    abandoned_ = !result_.has_value();
    return std::exchange(result_, std::nullopt);
  }

  bool ready() const {
    MutexLock lock(mutex_);
    return result_.has_value();
  }

 private:
  mutable Mutex mutex_;
  CondVar ready_;
  bool abandoned_ HOTROW_GUARDED_BY(mutex_) = false;
  std::optional<absl::StatusOr<T>> result_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow
