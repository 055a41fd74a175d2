#include "server/shard/push_work.h"

#include <utility>

namespace hotrow {

void PushWork::Prepare(wire::PushRequest request) {
  request_ = std::move(request);
  response_.request_id = request_.request_id;
  response_.results.resize(request_.sub_pushes.size());
  items_.resize(state_.strand_map.strands());
  size_t offset = 0;
  for (size_t i = 0; i < request_.sub_pushes.size(); ++i) {
    const wire::SubPush& sub_push = request_.sub_pushes[i];
    const bool known = sub_push.partition < state_.strand_map.partitions();
    const int owner = known ? state_.strand_map.Of(sub_push.partition) : StrandMap::kNotOwned;
    // What no strand owns gets its refusal from the first.
    items_[owner == StrandMap::kNotOwned ? 0 : owner].push_back(
        {&sub_push, &response_.results[i], offset});
    offset += sub_push.payload_bytes();
  }
  for (int strand = 0; strand < state_.strand_map.strands(); ++strand) {
    strands_ += Concerns(strand) ? 1 : 0;
  }
}

void PushWork::Run(PushExecutor& executor, int index, SharedWork::TimePoint now) {
  const wire::ErrorInfo error = executor.Run(request_, items_[index], now);
  if (!error.ok()) shared_.Fail(error);
}

PushReply PushWork::Finish() {
  response_.error = shared_.error();
  if (!response_.error.ok()) response_.results.clear();
  request_ = {};  // frees the payload
  return {std::move(response_), shared_.times()};
}

void PushWork::Rest() {
  request_ = {};
  response_ = {};
  strands_ = 0;
  for (auto& items : items_) {
    items.clear();
    if (items.capacity() > kKeptItems) items.shrink_to_fit();
  }
}

}  // namespace hotrow
