// What is said of a request that a queue gives up.

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "client/src/request_queue.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

// Names the shard when the words are its own.
wire::ErrorInfo RequestQueue::WhyAway() const {
  if (turned_away_ && stream_ != nullptr) {
    for (const auto& [id, entry] : entries_) {
      if (entry.refusal.kind == wire::ErrorKind::kUnavailable) return entry.refusal;
    }
    return {.kind = wire::ErrorKind::kUnavailable, .message = "it takes nothing"};
  }
  if (!trouble_.ok()) return wire::FromStatus(trouble_);
  return {.kind = wire::ErrorKind::kUnavailable, .message = "not connected"};
}

absl::Status RequestQueue::AwayError() const {
  wire::ErrorInfo error = WhyAway();
  const std::string so_long =
      absl::StrCat("for longer than recovery_timeout, ", recovery_timeout_.count(), " ms");
  // One kind, whatever the cause: it tells that a push that waits for the shard is still pending.
  error.kind = wire::ErrorKind::kUnavailable;
  if (error.shard >= 0) {
    absl::StrAppend(&error.message, " (and so ", so_long, ")");
  } else {
    error.message = absl::StrCat("away ", so_long, " (", error.message, ")");
    error.hint =
        "Check that hotrow-server runs there, not suspended, and that the address is reachable. "
        "The client goes on trying to connect.";
    NameShard(error, shard_, address_);
  }
  return wire::ToStatus(error);
}

absl::Status RequestQueue::DeadlineError(const wire::ErrorInfo& refusal) const {
  if (stream_ == nullptr) return NotReached(trouble_, shard_, address_);
  if (!refusal.ok()) return NotReached(wire::ToStatus(refusal), shard_, address_);
  return NameShard(
      wire::ToStatus({.kind = wire::ErrorKind::kDeadlineExceeded,
                      .message = "no answer within the deadline",
                      .hint = "The shard is connected but slow or suspended; see its status."}),
      shard_, address_);
}

}  // namespace hotrow::client
