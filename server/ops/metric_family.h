// Short hands to build metric families; internal to server/ops.

#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

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

}  // namespace hotrow
