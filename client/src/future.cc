#include "client/src/future_state.h"
#include "hotrow/client.h"
#include "hotrow/pulled_batch.h"
#include "proto/wire/status_codec.h"

namespace hotrow {

template <typename T>
absl::StatusOr<T> Future<T>::Wait(std::chrono::milliseconds timeout) {
  std::optional<absl::StatusOr<T>> result = TryWait(timeout);
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

template class Future<PushCounts>;
template class Future<std::shared_ptr<PulledBatch>>;
template class Future<std::vector<std::shared_ptr<PulledBatch>>>;

}  // namespace hotrow
