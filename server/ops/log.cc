#include "server/ops/log.h"

#include <errno.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "server/ops/log_fields.h"
#include "server/ops/log_sink.h"
#include "server/ops/log_writer.h"

namespace hotrow {
namespace {

// Whoever does not read the log must not keep the process from ending.
constexpr std::chrono::milliseconds kFlushTime(1000);

// Of the process; never given back, as the log is used to the end.
struct Log {
  std::shared_ptr<LogSink> sink;
  std::shared_ptr<spdlog::logger> audit;
  std::unique_ptr<LogWriter> writer;
};

Log& ProcessLog() {
  static auto* const log = new Log;
  return *log;
}

void WriteToStderr(const std::string& line) {
  for (size_t written = 0; written < line.size();) {
    const ssize_t count = write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (count > 0) {
      written += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd writable = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;  // nobody to tell
    }
  }
}

// gRPC's own lines. Its errors are mostly what one client suffered, hence no more than warnings.
void LogForGrpc(gpr_log_func_args* line) {
  const auto level =
      line->severity == GPR_LOG_SEVERITY_ERROR ? spdlog::level::warn : spdlog::level::debug;
  spdlog::default_logger_raw()->log(spdlog::source_loc{line->file, line->line, ""}, level,
                                    "grpc: {}", line->message);
}

// Protobuf's own lines, such as about a string that is no UTF-8: what one client sent.
void LogForProtobuf(google::protobuf::LogLevel severity, const char* file, int line,
                    const std::string& text) {
  const auto level =
      severity >= google::protobuf::LOGLEVEL_WARNING ? spdlog::level::warn : spdlog::level::debug;
  spdlog::default_logger_raw()->log(spdlog::source_loc{file, line, ""}, level, "protobuf: {}",
                                    text);
}

// An assertion logs why, then aborts: what waits to be written is the reason. The default action
// comes next, as the handler is installed for one signal, which need not come from abort().
void WriteBeforeAbort(int) {
  FlushLog();
  raise(SIGABRT);
}

void FlushOnAbort() {
  struct sigaction action{};
  action.sa_handler = WriteBeforeAbort;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGABRT, &action, nullptr);
}

}  // namespace

void SetUpLog(const std::string& level, const std::string& format, uint32_t shard) {
  const bool is_json = format == "json" || (format == "auto" && isatty(STDERR_FILENO) == 0);
  const LogFormat form = is_json ? LogFormat::kJson : LogFormat::kText;
  const auto dropped = [form, shard](uint64_t lines) {
    const std::string text =
        fmt::format("{} lines of the log were dropped: it was not read fast enough", lines);
    return FormatLine(form, {{.level = spdlog::level::warn, .text = text, .fields = {}}}, shard);
  };
  Log& log = ProcessLog();
  log.writer = std::make_unique<LogWriter>(
      LogWriter::Options{.write = WriteToStderr, .dropped_lines = dropped});
  log.sink = std::make_shared<LogSink>(LogSink::Options{
      .format = form,
      .shard = shard,
      .write = [writer = log.writer.get()](const std::string& line) { writer->Add(line); }});
  // What was done to the service is told at any level.
  log.audit = std::make_shared<spdlog::logger>(kUnlimitedLogger, log.sink);
  log.audit->set_level(spdlog::level::trace);
  auto logger = std::make_shared<spdlog::logger>("hotrow", log.sink);
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(LogForGrpc);
  google::protobuf::SetLogHandler(LogForProtobuf);
  FlushOnAbort();
}

void LogAudit(const std::string& text, const nlohmann::json& fields) {
  const LogFields carried(fields);
  const auto& audit = ProcessLog().audit;
  (audit == nullptr ? spdlog::default_logger_raw() : audit.get())->info(text);
}

void ReportLeftOutLines() { ProcessLog().sink->ReportLeftOut(LogLimit::Which::kAllowed); }

void ReportAllLeftOutLines() { ProcessLog().sink->ReportLeftOut(LogLimit::Which::kAll); }

void FlushLog() {
  if (const auto& writer = ProcessLog().writer; writer != nullptr) writer->Flush(kFlushTime);
}

uint64_t DroppedLogLines() {
  const auto& writer = ProcessLog().writer;
  return writer == nullptr ? 0 : writer->dropped();
}

}  // namespace hotrow
