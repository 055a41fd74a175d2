// PullExecutor: answers pulls. It changes no row, state, LSN or stored set.
//
// Thread safety: strand only. Ownership: the reply owns its rows. Bounds: a reply is at most
// wire::kMaxMessageBytes, header included. Errors: in the reply, which then has no rows.

#pragma once

#include <span>
#include <vector>

#include "proto/wire/batch_codec.h"
#include "server/shard/shard.h"
#include "server/shard/shard_state.h"

namespace hotrow {

class PullExecutor {
 public:
  explicit PullExecutor(ShardState& state) : state_(state) {}

  PullReply Run(const wire::PullRequest& request);

 private:
  struct Part {
    Table* table = nullptr;
    std::span<const Key> keys;
  };

  wire::ErrorInfo Prepare(const wire::PullRequest& request, wire::PullResponse* response);
  wire::ErrorInfo CheckKeys(const Part& part) const;
  void Fill(PullReply* reply);

  ShardState& state_;
  std::vector<Key> keys_;    // of the whole request; kept, at most kMaxMessageBytes
  std::vector<Part> parts_;  // kept
  size_t reply_bytes_ = 0;
};

}  // namespace hotrow
