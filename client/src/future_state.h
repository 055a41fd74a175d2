// The place where the result of an asynchronous call is left for its Future.
//
// Thread safety: Set once from any thread; Take by one thread at a time. Errors: one stands in
// `unclaimed` until it is taken here.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "client/src/interruptible.h"
#include "client/src/time_point.h"
#include "client/src/unclaimed_errors.h"
#include "hotrow/client.h"
#include "kernels/base/mutex.h"

namespace hotrow {

template <typename T>
struct Future<T>::State {
 public:
  // `unclaimed` may be null: such an error is forgotten.
  explicit State(std::shared_ptr<client::UnclaimedErrors> unclaimed = nullptr)
      : unclaimed_(std::move(unclaimed)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void Set(absl::StatusOr<T> result) {
    MutexLock lock(mutex_);
    result_.emplace(std::move(result));
    if (unclaimed_ != nullptr && !result_->ok()) error_id_ = unclaimed_->Add(result_->status());
    ready_.NotifyAll();
  }

  // The result, or nothing when the deadline passed or the wait was interrupted.
  std::optional<absl::StatusOr<T>> Take(client::TimePoint deadline) {
    MutexLock lock(mutex_);
    while (!result_.has_value()) {
      if (!client::WaitUntil(ready_, mutex_, deadline) && !result_.has_value()) return std::nullopt;
    }
    if (error_id_ != 0) unclaimed_->Claim(std::exchange(error_id_, 0));
    return std::exchange(result_, std::optional<absl::StatusOr<T>>(absl::FailedPreconditionError(
                                      "the result of this future has been taken")));
  }

  // What the push waits for: before the future is handed out.
  void SetOutage(std::function<absl::Status()> outage) { outage_ = std::move(outage); }
  absl::Status outage() const { return outage_ && !ready() ? outage_() : absl::OkStatus(); }

  bool ready() const {
    MutexLock lock(mutex_);
    return result_.has_value();
  }

 private:
  const std::shared_ptr<client::UnclaimedErrors> unclaimed_;
  std::function<absl::Status()> outage_;  // constant once the future is out
  mutable Mutex mutex_;
  CondVar ready_;
  client::UnclaimedErrors::Id error_id_ HOTROW_GUARDED_BY(mutex_) = 0;  // 0: none is unclaimed
  std::optional<absl::StatusOr<T>> result_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow
