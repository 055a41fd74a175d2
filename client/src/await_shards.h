// How control calls and scans wait for shards that are away: as a pull does. A tool
// (Access::kInspect) does not wait: it looks at what is there.
//
// Thread safety: pure functions that block their caller. Errors: Unavailable, naming the shard,
// when the time of the call or recovery_timeout is over.

#pragma once

#include "client/src/client_core.h"

namespace hotrow::client {

// Waits until all of `channels` are connected, which moves the patience's deadline.
absl::Status AwaitShards(ClientCore& core, Channels channels, Patience& patience);
// Whether a question that failed so is to be asked again, after a short pause that was made here: a
// shard went away before it answered.
bool IsAwayAgain(ClientCore& core, const absl::Status& status, const Patience& patience);

// Asks once the shards are there, and again when one of them goes away meanwhile. `question` takes
// nothing, gives a StatusOr and changes nothing.
template <typename Question>
auto AskOncePresent(ClientCore& core, Channels channels, Patience& patience, Question question) {
  using Answer = decltype(question());
  while (true) {
    if (absl::Status away = AwaitShards(core, channels, patience); !away.ok()) return Answer(away);
    Answer answer = question();
    if (answer.ok() || !IsAwayAgain(core, answer.status(), patience)) return answer;
  }
}

}  // namespace hotrow::client
