#include "server/ops/log.h"

#include <grpc/support/log.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/dup_filter_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

namespace hotrow {
namespace {

constexpr std::chrono::seconds kRepeatWindow(1);

// %* in a pattern: the message as the inside of a JSON string.
class JsonMessageFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string escaped = JsonEscaped({message.payload.data(), message.payload.size()});
    out.append(escaped.data(), escaped.data() + escaped.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessageFlag>();
  }
};

// gRPC's own lines. Its errors are mostly what one client suffered, hence no more than warnings.
void LogForGrpc(gpr_log_func_args* line) {
  const auto level =
      line->severity == GPR_LOG_SEVERITY_ERROR ? spdlog::level::warn : spdlog::level::debug;
  spdlog::log(level, "grpc: {}", line->message);
}

std::unique_ptr<spdlog::formatter> JsonFormatter(uint32_t shard) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonMessageFlag>('*').set_pattern(
      R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","msg":"%*","shard":)" + std::to_string(shard) +
      "}");
  return formatter;
}

}  // namespace

std::string JsonEscaped(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

void SetUpLog(const std::string& level, const std::string& format, uint32_t shard) {
  auto stderr_sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto sink = std::make_shared<spdlog::sinks::dup_filter_sink_mt>(kRepeatWindow);
  sink->add_sink(stderr_sink);
  const bool json = format == "json" || (format == "auto" && isatty(STDERR_FILENO) == 0);
  auto logger = std::make_shared<spdlog::logger>("hotrow", sink);
  if (json) {
    stderr_sink->set_formatter(JsonFormatter(shard));
  } else {
    stderr_sink->set_pattern("%H:%M:%S.%e %L shard " + std::to_string(shard) + ": %v");
  }
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(LogForGrpc);
}

}  // namespace hotrow
