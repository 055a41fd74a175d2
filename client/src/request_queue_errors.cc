// What is said of a request that a queue gives up.

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "client/src/request_queue.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

std::string RequestQueue::WhyAway() const {
  if (turned_away_ && stream_ != nullptr) {
    for (const auto& [id, entry] : entries_) {
      if (!entry.refusal.ok()) return entry.refusal.message;
    }
    return "it takes nothing";
  }
  return trouble_.ok() ? "not connected" : std::string(trouble_.message());
}

absl::Status RequestQueue::AwayError() const {
  const std::string cause = WhyAway();
  return NameShard(
      wire::ToStatus({.kind = wire::ErrorKind::kUnavailable,
                      .message = absl::StrCat("away for longer than recovery_timeout, ",
                                              recovery_timeout_.count(), " ms (", cause, ")"),
                      .hint = "Check that hotrow-server runs there and that the address is "
                              "reachable. The client goes on trying to connect."}),
      shard_, address_);
}

absl::Status RequestQueue::DeadlineError(const wire::ErrorInfo& refusal) const {
  if (stream_ == nullptr) {
    return NameShard(
        wire::MakeError(wire::ErrorKind::kUnavailable,
                        absl::StrCat("not reachable within the deadline (", WhyAway(), ")")),
        shard_, address_);
  }
  if (!refusal.ok()) {  // which names the shard
    wire::ErrorInfo error = refusal;
    absl::StrAppend(&error.message, " (and so until the deadline)");
    return wire::ToStatus(error);
  }
  return NameShard(
      wire::ToStatus({.kind = wire::ErrorKind::kDeadlineExceeded,
                      .message = "no answer within the deadline",
                      .hint = "The shard is connected but slow or stopped; see its status."}),
      shard_, address_);
}

}  // namespace hotrow::client
