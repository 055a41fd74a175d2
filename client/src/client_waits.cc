// How the calls of a client wait: through the absence of shards, and no longer than they may.

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/client_core.h"
#include "client/src/client_error.h"
#include "client/src/push_operation.h"
#include "proto/wire/status_codec.h"

namespace hotrow {

using client::Now;
using client::PushOperation;
using client::TimePoint;

namespace {

// While a shard is away, waits are cut into slices, to see when it is back.
constexpr std::chrono::milliseconds kLookAgain{100};

// The kind and no shard, whatever the cause: an outage's own kind would say that the call is still
// pending.
absl::Status NoRoom(int64_t bytes, int64_t budget, const absl::Status& outage) {
  const wire::ErrorInfo cause = wire::FromStatus(outage);
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kOverloaded,
       .message = absl::StrCat("nothing was sent: earlier calls have not left room for its ", bytes,
                               " bytes among the ", budget,
                               " that a client may have in flight (max_in_flight_bytes)",
                               cause.ok() ? "" : "; ", cause.message),
       .hint = absl::StrCat("Wait for the results of earlier calls, or until flush() returns, then "
                            "make this call again; keep fewer or smaller calls in flight.",
                            cause.hint.empty() ? "" : " ", cause.hint)});
}

// An error that says first what is pending and what to do about it, then `why`.
absl::Status Pending(const std::string& what, const std::string& what_to_do, wire::ErrorInfo why) {
  why.message = why.message.empty() ? what : absl::StrCat(what, "; ", why.message);
  why.hint = why.hint.empty() ? what_to_do : absl::StrCat(what_to_do, " ", why.hint);
  return wire::ToStatus(why);
}

}  // namespace

absl::Status ClientCore::OutageOf(const PushOperation& push) const {
  for (const uint32_t shard : push.open_shards()) {
    const absl::Status outage = channels_[shard]->pushes().outage(Now());
    if (!outage.ok()) return outage;
  }
  return absl::OkStatus();
}

absl::Status ClientCore::TakeBytes(int64_t bytes, client::Patience patience) {
  bool taken = budget_.Acquire(bytes, Now());
  if (taken) return absl::OkStatus();
  const Wait wait{.wait = [&](TimePoint until) { return taken = budget_.Acquire(bytes, until); },
                  .shards =
                      [&] {
                        std::vector<uint32_t> holders;
                        for (const auto& channel : channels_) {
                          if (channel->pushes().empty() && channel->pulls().empty()) continue;
                          if (channel->pushes().outage_at() == client::Never())
                            return std::vector<uint32_t>();
                          holders.push_back(channel->shard());
                        }
                        return holders;  // all are away
                      }};
  const absl::Status outage = WaitThroughOutages(wait, patience);
  return taken ? absl::OkStatus() : NoRoom(bytes, options_.max_in_flight_bytes, outage);
}

absl::Status ClientCore::WaitThroughOutages(const Wait& wait, client::Patience patience) const {
  for (bool waited = false;; waited = true) {
    bool away = false;
    // A shard that is here now may go away at once.
    TimePoint look = client::DeadlineIn(options_.recovery_timeout);
    for (const uint32_t shard : wait.shards()) {
      const absl::Status outage = channels_[shard]->pushes().outage(Now());
      if (!outage.ok()) return outage;
      const TimePoint outage_at = channels_[shard]->pushes().outage_at();
      away = away || outage_at < client::Never();
      look = std::min(look, outage_at);
    }
    if (away) patience.Away(Now());
    if (waited && (Now() >= patience.deadline || client::Interrupted())) return absl::OkStatus();
    if (away && patience.waits_out_outages()) look = std::min(look, Now() + kLookAgain);
    if (wait.wait(std::min(look, patience.deadline))) return absl::OkStatus();
  }
}

wire::ErrorInfo ClientCore::WhyPending(const absl::Status& outage,
                                       const std::vector<uint32_t>& shards) const {
  if (!outage.ok()) return wire::FromStatus(outage);
  wire::ErrorInfo why;
  for (const uint32_t shard : shards) {
    wire::ErrorInfo trouble = wire::FromStatus(channels_[shard]->trouble());
    if (trouble.ok()) trouble = channels_[shard]->pushes().refusal();
    if (trouble.ok()) continue;
    if (why.ok()) {
      why = std::move(trouble);
    } else {
      absl::StrAppend(&why.message, "; ", trouble.message);
    }
  }
  why.kind = wire::ErrorKind::kDeadlineExceeded;
  if (!why.message.empty() || shards.empty()) return why;
  // All are connected, and silent.
  why.message = "no answer yet";
  if (shards.size() > 1) absl::StrAppend(&why.message, ", nor of ", shards.size() - 1, " others");
  why.hint = "The shard is connected but slow or suspended; see its status.";
  client::NameShard(why, shards[0], channels_[shards[0]]->address());
  return why;
}

absl::Status ClientCore::StillPending(const absl::Status& outage, const PushOperation& push) const {
  return Pending(
      "the push is not acknowledged yet and still pending: it is neither lost nor sent twice",
      "Do not push the same gradients again; flush() waits for it.",
      WhyPending(outage, push.open_shards()));
}

ClientCore::PendingPushes ClientCore::WaitForPushes(client::Patience patience) {
  const uint64_t last = session_.last_begun();
  const auto shards = [&] {
    std::vector<uint32_t> waiting;
    for (const auto& channel : channels_) {
      if (!channel->pushes().empty()) waiting.push_back(channel->shard());
    }
    return waiting;
  };
  const Wait wait{
      .wait = [&](TimePoint until) { return session_.WaitUntilFinished(last, until) == 0; },
      .shards = shards};
  const absl::Status outage = WaitThroughOutages(wait, patience);
  PendingPushes pending{.count = session_.WaitUntilFinished(last, Now()), .why = {}};
  if (pending.count > 0) pending.why = WhyPending(outage, shards());
  return pending;
}

absl::Status ClientCore::Flush(std::optional<std::chrono::milliseconds> timeout) {
  const absl::Status status = CheckUsable();
  if (!status.ok()) return status;
  const PendingPushes pending = WaitForPushes(PatienceOf(timeout));
  if (pending.count == 0) return unclaimed_->Take();
  return Pending(
      absl::StrCat(pending.count, " pushes are still pending, neither lost nor sent twice"),
      "Do not push the same gradients again; flush() again waits for them.", pending.why);
}

// Gives up the pushes that it cannot wait for.
absl::Status ClientCore::FlushAtClose() {
  PendingPushes pending = WaitForPushes({.deadline = DeadlineOf(std::nullopt)});
  if (pending.count == 0) return unclaimed_->Take();
  pending.why.kind = wire::ErrorKind::kSessionLost;
  const absl::Status error =
      Pending(absl::StrCat("the client was closed before ", pending.count,
                           " pushes were acknowledged: they were given up, and whether they were "
                           "applied is unknown"),
              "A new client can read which rows have changed; where every update counts, restore "
              "what was saved last. A flush() before close() can be repeated, close() cannot.",
              pending.why);
  for (const auto& channel : channels_) channel->pushes().Fail(error);
  return error;
}

}  // namespace hotrow
