// Short hands to build metric families, and the parts of the metrics page; internal to server/ops.

#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hotrow/v1/admin_service.pb.h"
#include "server/ops/rpc_metrics.h"

namespace hotrow {

using Labels = std::vector<prometheus::ClientMetric::Label>;

inline prometheus::MetricFamily Family(std::string name, std::string help,
                                       prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

inline void AddCounter(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  family.metric.push_back(std::move(metric));
}

inline void AddGauge(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

// A histogram of whole numbers. (n) bounds, (n + 1) counts; a value of 1 is `unit` of the metric.
struct HistogramValues {
  std::span<const uint64_t> bounds;
  std::span<const uint64_t> counts;
  uint64_t sum = 0;
  double unit = 1;
};

inline void AddHistogram(prometheus::MetricFamily& family, Labels labels,
                         const HistogramValues& values) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  uint64_t cumulative = 0;
  for (size_t i = 0; i < values.counts.size(); ++i) {
    cumulative += values.counts[i];
    const bool last = i == values.bounds.size();
    metric.histogram.bucket.push_back(
        {cumulative, last ? std::numeric_limits<double>::infinity()
                          : static_cast<double>(values.bounds[i]) * values.unit});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = static_cast<double>(values.sum) * values.unit;
  family.metric.push_back(std::move(metric));
}

inline prometheus::MetricFamily SingleGauge(std::string name, std::string help, double value) {
  auto family = Family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
  AddGauge(family, {}, value);
  return family;
}

inline prometheus::MetricFamily SingleCounter(std::string name, std::string help, double value) {
  auto family = Family(std::move(name), std::move(help), prometheus::MetricType::Counter);
  AddCounter(family, {}, value);
  return family;
}

// What the rpc layer counts.
void AppendRpcMetrics(const RpcMetrics& rpc, std::vector<prometheus::MetricFamily>& families);
// What the tables of a shard count; those that are not `labelled`, by id, are summed.
void AppendTableMetrics(const v1::GetStatsResponse& stats, const std::set<uint32_t>& labelled,
                        std::vector<prometheus::MetricFamily>& families);

}  // namespace hotrow
