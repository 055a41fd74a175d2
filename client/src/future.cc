#include "client/src/future_state.h"
#include "hotrow/client.h"
#include "hotrow/pulled_batch.h"
#include "proto/wire/status_codec.h"

namespace hotrow {

namespace {

constexpr std::chrono::milliseconds kLookForOutages{200};

}  // namespace

template <typename T>
absl::StatusOr<T> Future<T>::Wait(std::chrono::milliseconds timeout) {
  const client::TimePoint deadline = client::DeadlineIn(timeout);
  std::optional<absl::StatusOr<T>> result;
  bool over = false;
  while (!result.has_value() && !over) {
    result = state_->Take(std::min(deadline, client::Now() + kLookForOutages));
    if (result.has_value()) break;
    const absl::Status outage = state_->outage();
    if (!outage.ok()) return outage;
    over = client::Now() >= deadline || client::Interrupted();
  }
  if (!result.has_value()) {
    return wire::ToStatus({.kind = wire::ErrorKind::kDeadlineExceeded,
                           .message = "the result is not there yet",
                           .hint = "The call goes on: wait for the same future again."});
  }
  return *std::move(result);
}

template <typename T>
std::optional<absl::StatusOr<T>> Future<T>::TryWait(std::chrono::milliseconds timeout) {
  return state_->Take(client::DeadlineIn(timeout));
}

template <typename T>
bool Future<T>::ready() const {
  return state_->ready();
}

template <typename T>
absl::Status Future<T>::outage() const {
  return state_->outage();
}

template class Future<PushCounts>;
template class Future<std::shared_ptr<PulledBatch>>;
template class Future<std::vector<std::shared_ptr<PulledBatch>>>;

}  // namespace hotrow
