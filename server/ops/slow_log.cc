#include "server/ops/slow_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/ops/log_fields.h"

namespace hotrow {
namespace {

double Milliseconds(std::chrono::nanoseconds time) {
  // To the microsecond: more digits say nothing.
  return static_cast<double>(time.count() / 1000) / 1000.0;
}

std::string StagesText(const SlowCall& call) {
  std::string text;
  for (const auto& [stage, time] : call.stages) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stage, Milliseconds(time));
  }
  return text;
}

nlohmann::json FieldsOf(const SlowCall& call, uint64_t left_out) {
  nlohmann::json stages = nlohmann::json::object();
  for (const auto& [stage, time] : call.stages) stages[stage] = Milliseconds(time);
  nlohmann::json fields = {{"rpc", NameOf(call.method)},
                           {"duration_ms", Milliseconds(call.duration)},
                           {"stages_ms", std::move(stages)},
                           {"code", call.code},
                           {"request_id", call.request_id},
                           {"keys", call.keys},
                           {"received_bytes", call.received_bytes},
                           {"sent_bytes", call.sent_bytes},
                           {"peer", call.peer}};
  if (!call.trace_id.empty()) fields["trace_id"] = call.trace_id;
  if (left_out > 0) fields["slow_calls_left_out"] = left_out;
  return fields;
}

void Write(const SlowCall& call, uint64_t left_out) {
  const LogFields fields(FieldsOf(call, left_out));
  const std::string others =
      left_out == 0 ? "" : fmt::format(" ({} slow calls before it left out)", left_out);
  SPDLOG_WARN("slow {}: {} ms ({}), request {} of {} keys from {}{}", NameOf(call.method),
              Milliseconds(call.duration), StagesText(call), call.request_id, call.keys, call.peer,
              others);
}

}  // namespace

void SlowLog::Add(SlowCall call) {
  // Under overload every call is slow: a line is made up only where it will be written.
  if (spdlog::default_logger_raw()->should_log(spdlog::level::warn)) {
    if (const auto line = TakeLine(); line.has_value()) Write(call, line->left_out);
  }
  MutexLock lock(mutex_);
  calls_.push_back(std::move(call));
  if (calls_.size() > kKept) calls_.pop_front();
}

std::optional<AllowedLine> SlowLog::TakeLine() {
  MutexLock lock(mutex_);
  return limit_.Take({}, {}, std::chrono::steady_clock::now());
}

std::vector<SlowCall> SlowLog::Newest(size_t limit) const {
  MutexLock lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(limit, calls_.size()));
  return {calls_.rbegin(), calls_.rbegin() + count};
}

}  // namespace hotrow
