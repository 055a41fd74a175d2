// PushWork: one push message on its way through the strands of a shard.
//
//   Prepare   on the thread that brings it: shares the sub-pushes out over the strands
//   Run       on each strand that has some: PushExecutor decides about each, in their order
//   Finish    on the last of them: hands the answers over
//
// Thread safety: Prepare and Finish by one thread; Run by each strand for itself, between the two.
// Ownership: owns the request and, until Finish, the answers. After Rest() nothing of a push is
// held but lists of up to kKeptItems sub-pushes. Errors: of the whole message when one strand
// refuses it whole: the session is lost, or its deadline has passed.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/wire/batch_codec.h"
#include "server/shard/push_executor.h"
#include "server/shard/shard.h"
#include "server/shard/shard_state.h"
#include "server/shard/shared_work.h"

namespace hotrow {

class PushWork {
 public:
  static constexpr size_t kKeptItems = 4096;

  explicit PushWork(const ShardState& state) : state_(state) {}

  void Prepare(wire::PushRequest request);
  // Of the prepared push.
  bool Concerns(int strand) const {
    // A message without sub-pushes is answered too: the session may be lost.
    return !items_[strand].empty() || (strand == 0 && request_.sub_pushes.empty());
  }
  int strands() const { return strands_; }  // that it concerns
  // What its strands decide together; where an error of the whole request goes, so that Finish
  // answers with it.
  SharedWork& shared() { return shared_; }

  void Run(PushExecutor& executor, int index, SharedWork::TimePoint now);
  PushReply Finish();
  void Rest();

 private:
  const ShardState& state_;
  SharedWork shared_;
  wire::PushRequest request_;
  wire::PushResponse response_;
  std::vector<std::vector<PushItem>> items_;  // (strands) in the order of the message
  int strands_ = 0;
};

}  // namespace hotrow
