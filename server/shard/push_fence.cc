#include "server/shard/push_fence.h"

#include <utility>

#include "server/shard/request_errors.h"

namespace hotrow {

wire::ErrorInfo CheckFence(const ShardState& shard, const wire::PushRequest& request,
                           const wire::SubPush& sub_push) {
  if (!shard.SameMap(request.timeline, request.map_version)) return StaleMap(shard.options.map);
  if (sub_push.partition >= shard.strand_map.partitions()) return {};
  if (!shard.strand_map.Owns(sub_push.partition)) return NotOwned("");
  if (sub_push.owner_epoch != 0 && sub_push.owner_epoch != shard.server_start_id) {
    return OtherLife();
  }
  return {};
}

bool AnswerIfAllAreFenced(const ShardState& shard, const wire::PushRequest& request,
                          wire::PushResponse* response) {
  std::vector<wire::SubPushResult> results;
  for (const wire::SubPush& sub_push : request.sub_pushes) {
    wire::ErrorInfo error = CheckFence(shard, request, sub_push);
    if (error.ok()) return false;
    results.push_back({.partition = sub_push.partition,
                       .sequence = sub_push.sequence,
                       .outcome = wire::Outcome::kRetry,
                       .error = std::move(error)});
  }
  if (results.empty()) return false;
  response->request_id = request.request_id;
  response->results = std::move(results);
  return true;
}

}  // namespace hotrow
