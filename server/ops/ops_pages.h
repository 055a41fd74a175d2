// The pages of the metrics address: /metrics /healthz /readyz /livez /version /status.
//
// Thread safety: page functions run on several threads, so the sources must allow that. Ownership:
// what the sources refer to outlives the HttpServer that gets the pages.

#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "hotrow/v1/admin_service.pb.h"
#include "server/ops/connection_counts.h"
#include "server/ops/http_server.h"
#include "server/ops/metrics_page.h"
#include "server/ops/rpc_metrics.h"
#include "server/ops/serving_state.h"

namespace hotrow {

struct OpsSources {
  std::function<ServingState()> state;
  const RpcMetrics* rpc = nullptr;
  std::function<absl::StatusOr<v1::GetStatsResponse>()> stats;  // may wait for a strand
  std::function<SubPushCounts()> sub_pushes;
  std::function<v1::ShardMap()> shard_map;
  std::function<bool()> alive;      // whether the threads of the network turn; never waits
  std::function<bool()> accepting;  // whether connections can be taken
  std::function<ConnectionCounts()> connections;
};

HttpServer::Pages OpsPages(OpsSources sources);

}  // namespace hotrow
