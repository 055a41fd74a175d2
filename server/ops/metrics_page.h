// The metrics of one server in Prometheus's text format.
//
// Thread safety: pure functions of the values given. Bounds: at most kMaxTableLabels tables have
// labels of their own, the others are summed under `other`. Labels never hold keys or paths.

#pragma once

#include <prometheus/metric_family.h>

#include <chrono>
#include <string>
#include <vector>

#include "hotrow/v1/admin_service.pb.h"
#include "server/ops/rpc_metrics.h"

namespace hotrow {

inline constexpr int kMaxTableLabels = 64;

struct MetricsInput {
  const RpcMetrics* rpc = nullptr;
  v1::GetStatsResponse stats;
  double start_time_seconds = 0;  // since 1970
  std::string state;              // "starting", "serving" or "draining"
  std::string version;
};

std::vector<prometheus::MetricFamily> CollectMetrics(const MetricsInput& input);
std::string RenderMetrics(const MetricsInput& input);

// Of this process, from /proc/self: memory, processor time, descriptors, threads.
void AppendProcessMetrics(std::vector<prometheus::MetricFamily>& families);

}  // namespace hotrow
