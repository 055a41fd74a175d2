#include "server/ops/metrics_page.h"

#include <prometheus/text_serializer.h>

#include <limits>
#include <map>
#include <sstream>

#include "server/ops/metric_family.h"

namespace hotrow {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr auto kRelaxed = std::memory_order_relaxed;

template <typename Visit>
void ForEachMethod(const RpcMetrics& rpc, Visit visit) {
  for (size_t i = 0; i < kMethodCount; ++i) {
    const auto method = static_cast<Method>(i);
    visit(Labels{{"method", NameOf(method)}}, rpc.of(method));
  }
}

MetricFamily Requests(const RpcMetrics& rpc) {
  auto family = Family("hotrow_rpc_requests_total",
                       "Requests answered; each message of a stream is one.", MetricType::Counter);
  ForEachMethod(rpc, [&](const Labels& labels, const MethodCounters& counters) {
    for (size_t code = 0; code < kCodeCount; ++code) {
      const uint64_t count = counters.requests[code].load(kRelaxed);
      if (count == 0 && code != 0) continue;  // codes appear when they first happen
      Labels with_code = labels;
      with_code.push_back({"code", NameOfCode(code)});
      AddCounter(family, std::move(with_code), static_cast<double>(count));
    }
  });
  return family;
}

MetricFamily Durations(const RpcMetrics& rpc) {
  auto family =
      Family("hotrow_rpc_duration_seconds", "From the arrival of a request to its encoded answer.",
             MetricType::Histogram);
  ForEachMethod(rpc, [&](const Labels& labels, const MethodCounters& counters) {
    prometheus::ClientMetric metric;
    metric.label = labels;
    uint64_t cumulative = 0;
    for (size_t i = 0; i <= kDurationBuckets.size(); ++i) {
      cumulative += counters.durations[i].load(kRelaxed);
      const bool last = i == kDurationBuckets.size();
      metric.histogram.bucket.push_back(
          {cumulative, last ? std::numeric_limits<double>::infinity() : kDurationBuckets[i]});
    }
    metric.histogram.sample_count = cumulative;
    metric.histogram.sample_sum =
        static_cast<double>(counters.duration_sum_ns.load(kRelaxed)) * 1e-9;
    family.metric.push_back(std::move(metric));
  });
  return family;
}

void AppendRpcMetrics(const RpcMetrics& rpc, std::vector<MetricFamily>& families) {
  auto received =
      Family("hotrow_rpc_received_bytes_total", "Bytes of requests.", MetricType::Counter);
  auto sent = Family("hotrow_rpc_sent_bytes_total", "Bytes of answers.", MetricType::Counter);
  auto in_flight = Family("hotrow_rpc_in_flight", "Requests not yet answered.", MetricType::Gauge);
  ForEachMethod(rpc, [&](const Labels& labels, const MethodCounters& counters) {
    AddCounter(received, labels, static_cast<double>(counters.received_bytes.load(kRelaxed)));
    AddCounter(sent, labels, static_cast<double>(counters.sent_bytes.load(kRelaxed)));
    AddGauge(in_flight, labels, static_cast<double>(counters.in_flight.load(kRelaxed)));
  });
  const auto queued = [&rpc](Method method) {
    return static_cast<double>(rpc.of(method).in_flight.load(kRelaxed));
  };
  families.push_back(Requests(rpc));
  families.push_back(Durations(rpc));
  families.push_back(std::move(received));
  families.push_back(std::move(sent));
  families.push_back(std::move(in_flight));
  families.push_back(SingleGauge("hotrow_queue_depth", "Pulls and pushes handed to the strands.",
                                 queued(Method::kPull) + queued(Method::kPush)));
  families.push_back(SingleCounter("hotrow_overload_rejections_total",
                                   "Requests refused because too much was waiting.",
                                   static_cast<double>(rpc.overloads())));
  families.push_back(SingleCounter("hotrow_streams_cut_total",
                                   "Streams cut because the client did not take its replies.",
                                   static_cast<double>(rpc.cut_streams())));
}

// Statistics by table label, the tables beyond the limit summed.
std::map<std::string, v1::TableStats> ByLabel(const v1::GetStatsResponse& stats) {
  std::map<std::string, v1::TableStats> labelled;
  int own_labels = 0;
  for (const v1::TableStats& table : stats.tables()) {
    v1::TableStats& sum = labelled[own_labels < kMaxTableLabels ? table.name() : "other"];
    ++own_labels;
    sum.set_rows(sum.rows() + table.rows());
    sum.set_rows_pulled(sum.rows_pulled() + table.rows_pulled());
    sum.set_rows_pulled_initial(sum.rows_pulled_initial() + table.rows_pulled_initial());
    sum.set_rows_pushed(sum.rows_pushed() + table.rows_pushed());
    sum.set_rows_created(sum.rows_created() + table.rows_created());
    sum.set_rows_refused(sum.rows_refused() + table.rows_refused());
    sum.set_gradients_refused(sum.gradients_refused() + table.gradients_refused());
  }
  return labelled;
}

void AppendTableMetrics(const v1::GetStatsResponse& stats, std::vector<MetricFamily>& families) {
  auto pulled = Family("hotrow_rows_pulled_total",
                       "Rows answered to pulls, by where they were found.", MetricType::Counter);
  auto pushed = Family("hotrow_rows_pushed_total", "Rows that pushes changed, once a sub-push.",
                       MetricType::Counter);
  auto created =
      Family("hotrow_rows_created_total", "Rows created by pushes.", MetricType::Counter);
  auto refused =
      Family("hotrow_rows_refused_total", "New keys that found no room.", MetricType::Counter);
  auto gradients = Family("hotrow_gradients_refused_total",
                          "Sub-pushes refused for a gradient that is not finite or out of bound.",
                          MetricType::Counter);
  auto rows = Family("hotrow_tier_rows", "Rows stored.", MetricType::Gauge);
  for (const auto& [name, table] : ByLabel(stats)) {
    const uint64_t initial = table.rows_pulled_initial();
    AddCounter(pulled, {{"table", name}, {"tier", "hot"}},
               static_cast<double>(table.rows_pulled() - initial));
    AddCounter(pulled, {{"table", name}, {"tier", "new"}}, static_cast<double>(initial));
    AddCounter(pushed, {{"table", name}}, static_cast<double>(table.rows_pushed()));
    AddCounter(created, {{"table", name}}, static_cast<double>(table.rows_created()));
    AddCounter(refused, {{"table", name}}, static_cast<double>(table.rows_refused()));
    AddCounter(gradients, {{"table", name}}, static_cast<double>(table.gradients_refused()));
    AddGauge(rows, {{"table", name}, {"tier", "hot"}}, static_cast<double>(table.rows()));
  }
  for (MetricFamily* family : {&pulled, &pushed, &created, &refused, &gradients, &rows}) {
    families.push_back(std::move(*family));
  }
}

void AppendShardMetrics(const v1::GetStatsResponse& stats, std::vector<MetricFamily>& families) {
  auto used =
      Family("hotrow_tier_used_bytes", "Memory of all tables, index included.", MetricType::Gauge);
  AddGauge(used, {{"tier", "hot"}}, static_cast<double>(stats.memory_used_bytes()));
  auto capacity = Family("hotrow_tier_capacity_bytes", "Budget of the tier.", MetricType::Gauge);
  AddGauge(capacity, {{"tier", "hot"}}, static_cast<double>(stats.memory_budget_bytes()));
  families.push_back(std::move(used));
  families.push_back(std::move(capacity));
  families.push_back(
      SingleGauge("hotrow_sessions", "Open sessions.", static_cast<double>(stats.sessions())));
  families.push_back(SingleCounter("hotrow_sessions_expired_total",
                                   "Sessions ended because they pushed nothing for too long.",
                                   static_cast<double>(stats.sessions_expired())));
  families.push_back(SingleCounter("hotrow_push_duplicates_total",
                                   "Sub-pushes that had been applied before.",
                                   static_cast<double>(stats.sub_pushes_duplicate())));
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
}

}  // namespace

std::vector<MetricFamily> CollectMetrics(const MetricsInput& input) {
  std::vector<MetricFamily> families;
  AppendServerMetrics(input, families);
  AppendRpcMetrics(*input.rpc, families);
  AppendShardMetrics(input.stats, families);
  AppendTableMetrics(input.stats, families);
  AppendProcessMetrics(families);
  return families;
}

std::string RenderMetrics(const MetricsInput& input) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, CollectMetrics(input));
  return text.str();
}

}  // namespace hotrow
