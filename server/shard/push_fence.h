// The fences of a push: whether its sub-pushes are meant for this shard, and for this life of it.
// They are looked at before a message takes room in the queue, so that a full queue does not hide
// from a client that it asks the wrong shard, and once more by whoever applies a sub-push.
//
// Thread safety: pure functions of what is constant in a ShardState. Errors: kStaleMap; the number
// stays open.

#pragma once

#include "proto/wire/batch_codec.h"
#include "server/shard/shard_state.h"

namespace hotrow {

// Routed by this shard's map, of its timeline, to a partition of its own, for its owner epoch. A
// partition that does not exist passes: nobody owns its refusal.
wire::ErrorInfo CheckFence(const ShardState& shard, const wire::PushRequest& request,
                           const wire::SubPush& sub_push);

// True, and answered, when the message has sub-pushes and none of them passes.
bool AnswerIfAllAreFenced(const ShardState& shard, const wire::PushRequest& request,
                          wire::PushResponse* response);

}  // namespace hotrow
