#include "server/ops/metrics_page.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>

#include "server/ops/log.h"
#include "server/ops/metric_family.h"

namespace hotrow {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kNanosecond = 1e-9;

HistogramValues ValuesOf(const v1::Histogram& histogram, double unit) {
  return {{histogram.bounds().data(), static_cast<size_t>(histogram.bounds_size())},
          {histogram.counts().data(), static_cast<size_t>(histogram.counts_size())},
          histogram.sum(),
          unit};
}

void AppendOutcomes(const SubPushCounts& counts, std::vector<MetricFamily>& families) {
  auto outcomes = Family("hotrow_sub_pushes_total",
                         "Sub-pushes by outcome, each time that they came.", MetricType::Counter);
  for (const auto& [outcome, count] :
       {std::pair("applied", counts.applied), std::pair("duplicate", counts.duplicate),
        std::pair("refused", counts.refused), std::pair("retried", counts.retried)}) {
    AddCounter(outcomes, {{"outcome", outcome}}, static_cast<double>(count));
  }
  families.push_back(std::move(outcomes));
  families.push_back(SingleCounter("hotrow_push_conflicts_total",
                                   "Sub-pushes refused because their number was used for other "
                                   "bytes: a client is faulty.",
                                   static_cast<double>(counts.conflicts)));
  families.push_back(SingleCounter("hotrow_push_damaged_total",
                                   "Sub-pushes to be sent again because their bytes did not match "
                                   "their hash.",
                                   static_cast<double>(counts.damaged)));
}

void AppendPushMetrics(const v1::GetStatsResponse& stats, std::vector<MetricFamily>& families) {
  families.push_back(SingleCounter("hotrow_push_duplicates_total",
                                   "Sub-pushes that had been applied before.",
                                   static_cast<double>(stats.sub_pushes_duplicate())));
  auto staleness = Family("hotrow_push_staleness_steps",
                          "Steps that a sub-push lay behind the highest one of its table.",
                          MetricType::Histogram);
  AddHistogram(staleness, {}, ValuesOf(stats.push_staleness_steps(), 1));
  families.push_back(std::move(staleness));
  auto apply = Family("hotrow_optimizer_apply_duration_seconds",
                      "Applying an optimizer to up to 1024 rows at a time.", MetricType::Histogram);
  for (const v1::OptimizerTimes& times : stats.optimizer_times()) {
    AddHistogram(apply, {{"optimizer", times.optimizer()}},
                 ValuesOf(times.apply_ns(), kNanosecond));
  }
  families.push_back(std::move(apply));
}

void AppendColdTier(const v1::ColdTierStats& cold, std::vector<MetricFamily>& families) {
  const auto gauge = [&](const char* name, const char* help, uint64_t value) {
    families.push_back(SingleGauge(name, help, static_cast<double>(value)));
  };
  const auto counter = [&](const char* name, const char* help, uint64_t value) {
    families.push_back(SingleCounter(name, help, static_cast<double>(value)));
  };
  gauge("hotrow_rocksdb_live_sst_bytes", "Files that hold rows.", cold.live_bytes());
  gauge("hotrow_rocksdb_memory_bytes", "Write buffers, filters and indexes.", cold.memory_bytes());
  gauge("hotrow_rocksdb_pending_compaction_bytes", "To be rewritten by compactions.",
        cold.pending_compaction_bytes());
  gauge("hotrow_rocksdb_write_stopped", "1 while writes wait for a compaction.",
        cold.write_stopped() ? 1 : 0);
  counter("hotrow_rocksdb_written_bytes_total", "Written to disk by flushes and compactions.",
          cold.bytes_flushed());
  counter("hotrow_cold_rows_read_total", "Rows asked of the cold tier.", cold.rows_read());
  counter("hotrow_cold_rows_written_total", "Rows written to the cold tier.", cold.rows_written());
  counter("hotrow_cold_bytes_written_total", "Bytes of these rows.", cold.bytes_written());
  counter("hotrow_cold_read_errors_total", "Reads of the cold tier that failed.",
          cold.read_errors());
  counter("hotrow_cold_write_errors_total", "Writes to the cold tier that failed.",
          cold.write_errors());
  counter("hotrow_cold_damaged_rows_total", "Rows of the cold tier found damaged.",
          cold.damaged_rows());
}

void AppendTiers(const v1::GetStatsResponse& stats, std::vector<MetricFamily>& families) {
  auto used =
      Family("hotrow_tier_used_bytes",
             "Memory of all tables in a tier, index included; of cold, disk.", MetricType::Gauge);
  auto capacity = Family("hotrow_tier_capacity_bytes", "Budget of the tier.", MetricType::Gauge);
  const auto add = [&](const char* tier, uint64_t bytes, uint64_t budget) {
    AddGauge(used, {{"tier", tier}}, static_cast<double>(bytes));
    AddGauge(capacity, {{"tier", tier}}, static_cast<double>(budget));
  };
  add("hot", stats.memory_used_bytes() - stats.warm_used_bytes(), stats.memory_budget_bytes());
  if (stats.warm_budget_bytes() > 0) {
    add("warm", stats.warm_used_bytes(), stats.warm_budget_bytes());
  }
  if (stats.has_cold()) add("cold", stats.cold().disk_bytes(), stats.disk_budget_bytes());
  families.push_back(std::move(used));
  families.push_back(std::move(capacity));
  if (stats.has_cold()) AppendColdTier(stats.cold(), families);
}

void AppendShardMetrics(const v1::GetStatsResponse& stats, std::vector<MetricFamily>& families) {
  AppendTiers(stats, families);
  families.push_back(
      SingleGauge("hotrow_sessions", "Open sessions.", static_cast<double>(stats.sessions())));
  families.push_back(SingleGauge("hotrow_sessions_limit", "Sessions that may be open at a time.",
                                 static_cast<double>(stats.max_sessions())));
  families.push_back(SingleGauge("hotrow_kept_answers_bytes",
                                 "Memory of the answers kept for pushes that are sent again.",
                                 static_cast<double>(stats.kept_answer_bytes())));
  families.push_back(SingleCounter("hotrow_sessions_expired_total",
                                   "Sessions ended because they pushed nothing for too long.",
                                   static_cast<double>(stats.sessions_expired())));
  AppendPushMetrics(stats, families);
}

void AppendConnections(const ConnectionCounts& counts, std::vector<MetricFamily>& families) {
  families.push_back(SingleGauge("hotrow_connections", "Open connections of clients.",
                                 static_cast<double>(counts.open)));
  families.push_back(SingleGauge("hotrow_connections_limit",
                                 "Connections that may be open at a time.",
                                 static_cast<double>(counts.limit)));
  families.push_back(SingleCounter("hotrow_connections_accepted_total", "Connections taken.",
                                   static_cast<double>(counts.accepted)));
  families.push_back(SingleCounter("hotrow_connections_refused_total",
                                   "Connections closed at once because the limit was met.",
                                   static_cast<double>(counts.refused)));
}

void AppendServerMetrics(const MetricsInput& input, std::vector<MetricFamily>& families) {
  auto build = Family("hotrow_build_info", "1, labelled with the version.", MetricType::Gauge);
  AddGauge(build, {{"version", input.version}}, 1);
  auto state =
      Family("hotrow_shard_state", "1 for the state that the shard is in.", MetricType::Gauge);
  for (const char* name : {"starting", "serving", "draining"}) {
    AddGauge(state, {{"state", name}}, input.state == name ? 1 : 0);
  }
  families.push_back(std::move(build));
  families.push_back(std::move(state));
  families.push_back(SingleGauge("hotrow_start_time_seconds", "Start of the process since 1970.",
                                 input.start_time_seconds));
  families.push_back(SingleCounter("hotrow_log_lines_dropped_total",
                                   "Lines of the log that were dropped because it was not read.",
                                   static_cast<double>(DroppedLogLines())));
}

}  // namespace

std::vector<MetricFamily> CollectMetrics(const MetricsInput& input) {
  std::vector<MetricFamily> families;
  AppendServerMetrics(input, families);
  AppendConnections(input.connections, families);
  AppendRpcMetrics(*input.rpc, families);
  AppendShardMetrics(input.stats, families);
  AppendOutcomes(input.sub_pushes, families);
  AppendTableMetrics(input.stats, input.labelled_tables, families);
  AppendProcessMetrics(families);
  return families;
}

std::string RenderMetrics(const MetricsInput& input) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, CollectMetrics(input));
  return text.str();
}

}  // namespace hotrow
