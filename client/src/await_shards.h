// How control calls and scans wait for shards that are away: as a pull does. A tool
// (Access::kInspect) does not wait: it looks at what is there.
//
// Thread safety: pure functions that block their caller. Errors: Unavailable, naming the shard,
// when the time of the call or recovery_timeout is over; Overloaded where all sessions of a shard
// are in use.

#pragma once

#include "client/src/client_core.h"
#include "client/src/interruptible.h"

namespace hotrow::client {

// Waits until all of `channels` are connected, which moves the patience's deadline.
absl::Status AwaitShards(ClientCore& core, Channels channels, Patience& patience);
// Whether a question that failed so may be asked again: a shard went away before it answered.
bool WentAway(const ClientCore& core, const absl::Status& status);
// By then the connection has noticed that the shard is away.
inline constexpr milliseconds kNoticedAfter(50);

// Asks once the shards are there, and again when one of them goes away meanwhile. `question` takes
// nothing, gives a StatusOr and changes nothing.
template <typename Question>
auto AskOncePresent(ClientCore& core, Channels channels, Patience& patience, Question question) {
  using Answer = decltype(question());
  while (true) {
    if (absl::Status away = AwaitShards(core, channels, patience); !away.ok()) return Answer(away);
    Answer answer = question();
    if (answer.ok() || !WentAway(core, answer.status())) return answer;
    const bool in_time = Now() + kNoticedAfter < patience.deadline;
    if (!in_time || !SleepFor(kNoticedAfter)) return answer;
  }
}

}  // namespace hotrow::client
