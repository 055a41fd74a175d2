// LogSink: writes the log as text for people, or as one JSON object a line for programs:
//
//   {"ts":"2026-01-31T12:00:00.123Z","level":"warning","msg":"...","shard":3[,fields][,"left_out":12]}
//
// with the fields of LogFields, among them `rpc` and `trace_id` where there are such. Lines are
// limited by the place that they come from (LogLimit); `left_out` lines of the same place were not
// written since the last one that was.
//
// Lines of a logger named kUnlimitedLogger are not limited, and not counted as left out.
//
// Thread safety: every method, from any thread; a line is one write. Ownership: `write` is called
// under the sink's lock, and must not block (LogWriter). Bounds: LogLimit's.

#pragma once

#include <spdlog/sinks/base_sink.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "server/ops/log_limit.h"

namespace hotrow {

enum class LogFormat : uint8_t { kText, kJson };

inline constexpr char kUnlimitedLogger[] = "audit";

class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  struct Options {
    LogFormat format = LogFormat::kJson;
    uint32_t shard = 0;
    std::function<void(const std::string&)> write;  // a line, with its end
    std::function<LogLimit::Time()> now = std::chrono::steady_clock::now;
  };
  explicit LogSink(Options options) : options_(std::move(options)) {}

  // Tells what was left out, as LogLimit::TakeLeftOut.
  void ReportLeftOut(LogLimit::Which which);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  void Write(const AllowedLine& allowed) const;

  const Options options_;
  LogLimit limit_;  // under the lock of the base
};

// The line, with its end, as it is written now.
std::string FormatLine(LogFormat format, const AllowedLine& allowed, uint32_t shard);
// A text as the inside of a JSON string; bytes that are no UTF-8 are replaced.
std::string JsonEscaped(const std::string& text);

}  // namespace hotrow
