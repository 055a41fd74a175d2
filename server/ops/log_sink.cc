#include "server/ops/log_sink.h"

#include <fmt/chrono.h>
#include <spdlog/common.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/ops/log_fields.h"

namespace hotrow {
namespace {

using std::chrono::system_clock;

int64_t MillisecondsOf(system_clock::time_point time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  return since.count() % 1000;
}

std::string NameOfLevel(int level) {
  const auto name = spdlog::level::to_string_view(static_cast<spdlog::level::level_enum>(level));
  return {name.data(), name.size()};
}

std::string AsJson(const AllowedLine& allowed, uint32_t shard, system_clock::time_point now) {
  const std::string left_out =
      allowed.left_out == 0 ? "" : fmt::format(R"(,"left_out":{})", allowed.left_out);
  return fmt::format(
      R"({{"ts":"{:%Y-%m-%dT%H:%M:%S}.{:03}Z","level":"{}","msg":"{}","shard":{}{}{}}})"
      "\n",
      fmt::gmtime(system_clock::to_time_t(now)), MillisecondsOf(now),
      NameOfLevel(allowed.line.level), JsonEscaped(allowed.line.text), shard, allowed.line.fields,
      left_out);
}

// Control characters would let a peer's text forge lines, or steer a terminal.
std::string OnOneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

std::string AsText(const AllowedLine& allowed, uint32_t shard, system_clock::time_point now) {
  const std::string left_out =
      allowed.left_out == 0 ? "" : fmt::format(" ({} more like it left out)", allowed.left_out);
  return fmt::format("{:%H:%M:%S}.{:03} {} shard {}: {}{}\n",
                     fmt::localtime(system_clock::to_time_t(now)), MillisecondsOf(now),
                     NameOfLevel(allowed.line.level), shard, OnOneLine(allowed.line.text),
                     left_out);
}

}  // namespace

std::string JsonEscaped(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string FormatLine(LogFormat format, const AllowedLine& allowed, uint32_t shard) {
  const auto now = system_clock::now();
  return format == LogFormat::kJson ? AsJson(allowed, shard, now) : AsText(allowed, shard, now);
}

void LogSink::Write(const AllowedLine& allowed) const {
  options_.write(FormatLine(options_.format, allowed, options_.shard));
}

void LogSink::sink_it_(const spdlog::details::log_msg& message) {
  const LogPlace place{message.source.filename, message.source.line};
  LogLine line{static_cast<int>(message.level),
               {message.payload.data(), message.payload.size()},
               LogFields::Current()};
  const std::string_view logger(message.logger_name.data(), message.logger_name.size());
  if (logger == kUnlimitedLogger) return Write({std::move(line)});
  const auto allowed = limit_.Take(place, std::move(line), options_.now());
  if (allowed.has_value()) Write(*allowed);
}

void LogSink::ReportLeftOut(LogLimit::Which which) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const AllowedLine& line : limit_.TakeLeftOut(which, options_.now())) Write(line);
}

}  // namespace hotrow
