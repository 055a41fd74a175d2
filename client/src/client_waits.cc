// How the calls of a client wait: through the absence of shards, and no longer than they may.

#include "absl/strings/str_cat.h"
#include "client/src/client_core.h"
#include "client/src/push_operation.h"
#include "proto/wire/status_codec.h"

namespace hotrow {

using client::Now;
using client::PushOperation;
using client::TimePoint;

namespace {

// While a shard is away, waits are cut into slices, to see when it is back.
constexpr std::chrono::milliseconds kLookAgain{100};

absl::Status NoRoom(const absl::Status& outage) {
  wire::ErrorInfo error = wire::FromStatus(outage);
  const std::string cause = error.ok() ? "" : absl::StrCat("; ", error.message);
  if (error.ok()) {
    error.kind = wire::ErrorKind::kOverloaded;
    error.hint = "Wait for earlier calls, or raise max_in_flight_bytes.";
  }
  error.message = absl::StrCat(
      "nothing was sent: max_in_flight_bytes of earlier calls were still in flight", cause);
  return wire::ToStatus(error);
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
  return taken ? absl::OkStatus() : NoRoom(outage);
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

absl::Status ClientCore::StillPending(const absl::Status& outage) const {
  const wire::ErrorInfo away = wire::FromStatus(outage);
  std::string trouble = away.ok() ? "" : absl::StrCat("; ", away.message);
  for (const auto& channel : channels_) {
    absl::Status status = channel->trouble();
    if (status.ok()) status = wire::ToStatus(channel->pushes().refusal());
    if (away.ok() && !status.ok()) absl::StrAppend(&trouble, "; ", std::string(status.message()));
  }
  return wire::ToStatus(
      {.kind = away.ok() ? wire::ErrorKind::kDeadlineExceeded : away.kind,
       .message = absl::StrCat("the push is not acknowledged yet and still pending: it is neither "
                               "lost nor sent twice",
                               trouble),
       .hint =
           absl::StrCat("Do not push the same gradients again; flush() waits for it. ", away.hint),
       .shard = away.shard});
}

}  // namespace hotrow
