#include <array>
#include <string>
#include <vector>

#include "server/ops/metric_family.h"

namespace hotrow {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kNanosecond = 1e-9;

struct MethodRow {
  Method method = Method::kPull;
  MethodTotals totals;

  Labels labels() const { return {{"method", NameOf(method)}}; }
};

std::vector<MethodRow> AllMethods(const RpcMetrics& rpc) {
  std::vector<MethodRow> rows;
  for (size_t i = 0; i < kMethodCount; ++i) {
    const auto method = static_cast<Method>(i);
    rows.push_back({method, rpc.Totals(method)});
  }
  return rows;
}

HistogramValues Durations(const DurationHistogram::Totals& totals) {
  return {kDurationBounds, totals.counts, totals.sum, kNanosecond};
}

MetricFamily Requests(const std::vector<MethodRow>& rows) {
  auto family = Family("hotrow_rpc_requests_total",
                       "Requests answered; each message of a stream is one.", MetricType::Counter);
  for (const MethodRow& row : rows) {
    for (size_t code = 0; code < kCodeCount; ++code) {
      const uint64_t count = row.totals.requests[code];
      if (count == 0 && code != 0) continue;  // codes appear when they first happen
      Labels labels = row.labels();
      labels.push_back({"code", NameOfCode(code)});
      AddCounter(family, std::move(labels), static_cast<double>(count));
    }
  }
  return family;
}

void AppendMethods(const std::vector<MethodRow>& rows, std::vector<MetricFamily>& families) {
  auto durations =
      Family("hotrow_rpc_duration_seconds", "From the arrival of a request to its encoded answer.",
             MetricType::Histogram);
  auto received =
      Family("hotrow_rpc_received_bytes_total", "Bytes of requests.", MetricType::Counter);
  auto sent = Family("hotrow_rpc_sent_bytes_total", "Bytes of answers.", MetricType::Counter);
  auto in_flight = Family("hotrow_rpc_in_flight", "Requests not yet answered.", MetricType::Gauge);
  for (const MethodRow& row : rows) {
    AddHistogram(durations, row.labels(), Durations(row.totals.durations));
    AddCounter(received, row.labels(), static_cast<double>(row.totals.received_bytes));
    AddCounter(sent, row.labels(), static_cast<double>(row.totals.sent_bytes));
    AddGauge(in_flight, row.labels(), static_cast<double>(row.totals.in_flight));
  }
  families.push_back(Requests(rows));
  for (MetricFamily* family : {&durations, &received, &sent, &in_flight}) {
    families.push_back(std::move(*family));
  }
}

void AppendSlow(const std::vector<MethodRow>& rows, std::vector<MetricFamily>& families) {
  auto slow = Family("hotrow_rpc_slow_calls_total",
                     "Pulls, pushes and steps of scans that took log.slow_call or longer.",
                     MetricType::Counter);
  for (const Method method : {Method::kPull, Method::kPush, Method::kScan}) {
    const MethodRow& row = rows[static_cast<size_t>(method)];
    AddCounter(slow, row.labels(), static_cast<double>(row.totals.slow));
  }
  families.push_back(std::move(slow));
}

void AppendStages(const RpcMetrics& rpc, std::vector<MetricFamily>& families) {
  auto stages = Family("hotrow_rpc_stage_duration_seconds",
                       "Time of requests that strands worked on, by stage; the stages of a request "
                       "together are its duration.",
                       MetricType::Histogram);
  auto keys =
      Family("hotrow_keys_per_request", "Keys of one message, in all its tables and sub-pushes.",
             MetricType::Histogram);
  DurationHistogram::Totals waits;
  for (const Method method : kStagedMethods) {
    const Labels labels = {{"method", NameOf(method)}};
    const StageTotals totals = rpc.Stages(method);
    for (size_t i = 0; i < kStageCount; ++i) {
      Labels with_stage = labels;
      with_stage.push_back({"stage", NameOf(static_cast<Stage>(i))});
      AddHistogram(stages, std::move(with_stage), Durations(totals.stages[i]));
    }
    AddHistogram(keys, labels, {kKeyCountBounds, totals.keys.counts, totals.keys.sum});
    const DurationHistogram::Totals& queue = totals.stages[static_cast<size_t>(Stage::kQueue)];
    for (size_t i = 0; i < waits.counts.size(); ++i) waits.counts[i] += queue.counts[i];
    waits.sum += queue.sum;
  }
  auto wait = Family("hotrow_queue_wait_seconds",
                     "Time that pulls and pushes waited for the first strand to take them up.",
                     MetricType::Histogram);
  AddHistogram(wait, {}, Durations(waits));
  for (MetricFamily* family : {&stages, &keys, &wait}) families.push_back(std::move(*family));
}

}  // namespace

void AppendRpcMetrics(const RpcMetrics& rpc, std::vector<MetricFamily>& families) {
  const std::vector<MethodRow> rows = AllMethods(rpc);
  AppendMethods(rows, families);
  AppendSlow(rows, families);
  AppendStages(rpc, families);
  const auto in_flight = [&rows](Method method) {
    return static_cast<double>(rows[static_cast<size_t>(method)].totals.in_flight);
  };
  families.push_back(SingleGauge("hotrow_queue_depth", "Pulls and pushes handed to the strands.",
                                 in_flight(Method::kPull) + in_flight(Method::kPush)));
  families.push_back(
      SingleCounter("hotrow_overload_rejections_total",
                    "Requests refused, wholly or in part, because something was full.",
                    static_cast<double>(rpc.overloads())));
  families.push_back(SingleCounter("hotrow_streams_cut_total",
                                   "Streams cut because the client did not take its replies.",
                                   static_cast<double>(rpc.cut_streams())));
}

}  // namespace hotrow
