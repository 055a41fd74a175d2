// The metrics of one server in Prometheus's text format.
//
// Thread safety: pure functions of the values given, but for TableLabels. Bounds: at most
// kMaxTableLabels tables have labels of their own, the others are summed under kOtherTables. Labels
// never hold keys or paths.

#pragma once

#include <prometheus/metric_family.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hotrow/v1/admin_service.pb.h"
#include "kernels/base/mutex.h"
#include "server/ops/connection_counts.h"
#include "server/ops/rpc_metrics.h"

namespace hotrow {

inline constexpr size_t kMaxTableLabels = 64;
inline constexpr char kOtherTables[] = "(other)";  // no table can have that name

// Which tables have labels of their own: the first ones in the order of their creation. A table
// keeps what it was given as long as it lives, so that no series jumps by another table's history;
// the label of a dropped one is free for a new table.
//
// Thread safety: every method, from any thread.
class TableLabels {
 public:
  // The ids of those of `stats` that have.
  std::set<uint32_t> Of(const v1::GetStatsResponse& stats);

 private:
  Mutex mutex_;
  std::map<uint32_t, bool> known_ HOTROW_GUARDED_BY(mutex_);  // by id: has one of its own
};

// What became of the sub-pushes that came, each time that they came.
struct SubPushCounts {
  uint64_t applied = 0;
  uint64_t duplicate = 0;
  uint64_t refused = 0;
  uint64_t retried = 0;
  uint64_t conflicts = 0;  // of those refused
  uint64_t damaged = 0;    // of those retried
};

struct MetricsInput {
  const RpcMetrics* rpc = nullptr;
  v1::GetStatsResponse stats;
  SubPushCounts sub_pushes;
  ConnectionCounts connections;
  std::set<uint32_t> labelled_tables;  // TableLabels
  double start_time_seconds = 0;       // since 1970
  std::string state;                   // "starting", "serving" or "draining"
  std::string version;
};

std::vector<prometheus::MetricFamily> CollectMetrics(const MetricsInput& input);
std::string RenderMetrics(const MetricsInput& input);

// Of this process, from /proc/self: memory, processor time, descriptors, threads.
void AppendProcessMetrics(std::vector<prometheus::MetricFamily>& families);
// When it started, since 1970, by the clock as it was when this was first asked: the same for all
// its life, however the clock is set meanwhile.
double ProcessStartSeconds();

}  // namespace hotrow
