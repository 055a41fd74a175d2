#include "server/ops/log.h"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "server/ops/log_sink.h"

namespace hotrow {
namespace {

// The sink of the process; never given back, as the log is used to the end.
std::shared_ptr<LogSink>& ProcessSink() {
  static auto* const sink = new std::shared_ptr<LogSink>;
  return *sink;
}

void WriteToStderr(const std::string& line) {
  for (size_t written = 0; written < line.size();) {
    const ssize_t count = write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (count <= 0) return;  // nobody to tell
    written += static_cast<size_t>(count);
  }
}

// gRPC's own lines. Its errors are mostly what one client suffered, hence no more than warnings.
void LogForGrpc(gpr_log_func_args* line) {
  const auto level =
      line->severity == GPR_LOG_SEVERITY_ERROR ? spdlog::level::warn : spdlog::level::debug;
  spdlog::default_logger_raw()->log(spdlog::source_loc{line->file, line->line, ""}, level,
                                    "grpc: {}", line->message);
}

}  // namespace

void SetUpLog(const std::string& level, const std::string& format, uint32_t shard) {
  const bool json = format == "json" || (format == "auto" && isatty(STDERR_FILENO) == 0);
  ProcessSink() = std::make_shared<LogSink>(
      LogSink::Options{.format = json ? LogFormat::kJson : LogFormat::kText,
                       .shard = shard,
                       .write = WriteToStderr});
  auto logger = std::make_shared<spdlog::logger>("hotrow", ProcessSink());
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(LogForGrpc);
}

void ReportLeftOutLines() { ProcessSink()->ReportLeftOut(LogLimit::Which::kAllowed); }

void ReportAllLeftOutLines() { ProcessSink()->ReportLeftOut(LogLimit::Which::kAll); }

}  // namespace hotrow
