#include "server/ops/ops_pages.h"

#include <google/protobuf/util/json_util.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace hotrow {
namespace {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kJsonType = "application/json";

HttpPage Verdict(bool good, const std::string& word) {
  return {.code = good ? 200 : 503, .body = word + "\n"};
}

HttpPage StatsFailure(const absl::Status& status) {
  return {.code = 503, .body = "statistics: " + std::string(status.message()) + "\n"};
}

nlohmann::json ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const bool converted = google::protobuf::util::MessageToJsonString(message, &text, options).ok();
  return converted ? nlohmann::json::parse(text, nullptr, false) : nlohmann::json();
}

HttpPage MetricsPage(const OpsSources& sources, double start_time_seconds, TableLabels& labels) {
  absl::StatusOr<v1::GetStatsResponse> stats = sources.stats();
  if (!stats.ok()) return StatsFailure(stats.status());
  MetricsInput input{.rpc = sources.rpc,
                     .stats = *std::move(stats),
                     .sub_pushes = sources.sub_pushes(),
                     .connections = sources.connections(),
                     .labelled_tables = {},
                     .start_time_seconds = start_time_seconds,
                     .state = NameOf(sources.state()),
                     .version = HOTROW_VERSION};
  input.labelled_tables = labels.Of(input.stats);
  return {.content_type = kMetricsType, .body = RenderMetrics(input)};
}

HttpPage StatusPage(const OpsSources& sources) {
  const absl::StatusOr<v1::GetStatsResponse> stats = sources.stats();
  if (!stats.ok()) return StatsFailure(stats.status());
  nlohmann::json status = ToJson(*stats);
  status["state"] = NameOf(sources.state());
  status["version"] = HOTROW_VERSION;
  status["shard_map"] = ToJson(sources.shard_map());
  return {.content_type = kJsonType, .body = status.dump(2) + "\n"};
}

}  // namespace

HttpServer::Pages OpsPages(OpsSources sources) {
  const double start_time_seconds = ProcessStartSeconds();
  const auto labels = std::make_shared<TableLabels>();  // kept by the page
  const auto ready = [sources] {
    const ServingState state = sources.state();
    if (state == ServingState::kServing && !sources.accepting()) {
      return Verdict(false, "no connection can be accepted: descriptors or memory have run out");
    }
    return Verdict(state == ServingState::kServing, NameOf(state));
  };
  return {
      {"/metrics", [=] { return MetricsPage(sources, start_time_seconds, *labels); }},
      {"/status", [=] { return StatusPage(sources); }},
      {"/readyz", ready},
      {"/healthz", ready},
      {"/livez",
       [=] {
         const bool alive = sources.alive();
         return Verdict(alive, alive ? "alive" : "a thread of the network hangs");
       }},
      {"/version", [] { return HttpPage{.body = HOTROW_VERSION "\n"}; }},
  };
}

}  // namespace hotrow
