#include "client/src/await_shards.h"

#include <algorithm>

#include "client/src/client_error.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

// How often a wait is cut to see whether recovery_timeout is over.
constexpr milliseconds kLookAgain(100);

bool Waits(const ClientCore& core) { return core.options().access == Access::kTrain; }

}  // namespace

absl::Status AwaitShards(ClientCore& core, Channels channels, Patience& patience) {
  if (!Waits(core)) return absl::OkStatus();
  for (const auto& channel : channels) {
    while (true) {
      const TimePoint look = std::min(Now() + kLookAgain, patience.deadline);
      const absl::Status up = channel->WaitUntilUp(look);
      // A shard that was given up for good may still answer questions: what it says counts.
      if (up.ok() || !IsTransient(wire::FromStatus(up).kind)) break;
      if (absl::Status outage = channel->pulls().outage(Now()); !outage.ok()) return outage;
      patience.Away(Now());
      if (Now() >= patience.deadline || Interrupted()) return up;
    }
  }
  return absl::OkStatus();
}

bool WentAway(const ClientCore& core, const absl::Status& status) {
  return Waits(core) && wire::FromStatus(status).kind == wire::ErrorKind::kUnavailable;
}

}  // namespace hotrow::client
