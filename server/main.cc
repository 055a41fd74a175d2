// hotrow-server: one shard. Reads its configuration, serves until SIGTERM, SIGINT or SIGHUP,
// drains.
//
// Exit codes: 0 clean stop, 2 bad configuration, 1 anything else, always with one line that says
// why.

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hotrow/v1/admin_service.pb.h"
#include "hotrow/v1/shard_map.pb.h"
#include "proto/wire/process_tuning.h"
#include "proto/wire/shard_map.h"
#include "server/ops/command_line.h"
#include "server/ops/data_directory.h"
#include "server/ops/http_server.h"
#include "server/ops/log.h"
#include "server/ops/metrics_page.h"
#include "server/ops/ops_pages.h"
#include "server/ops/ready_file.h"
#include "server/rpc/descriptor_limit.h"
#include "server/rpc/rpc_server.h"
#include "server/shard/shard.h"

namespace hotrow {
namespace {

constexpr int kSuccess = 0;
constexpr int kFailure = 1;
constexpr int kBadConfiguration = 2;

// Open calls get this long to hear that the server stops, after accepted work was answered.
constexpr std::chrono::seconds kGoodbye(2);

// However the process ends, its log is written first.
struct LogToTheEnd {
  ~LogToTheEnd() { FlushLog(); }
};

int Fail(int exit_code, const absl::Status& status) {
  FlushLog();  // what led to it comes first
  std::fprintf(stderr, "hotrow-server: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

// SIGHUP, of a terminal that closes, is one of them unless nohup has it ignored.
sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  struct sigaction hang_up{};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

// Whoever starts a program with one of them closed would find the log in the first file that the
// program opens.
void OpenStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDWR);  // the lowest number that is free
  }
}

// All parts of a running server, in the order of their dependencies: destroyed from the bottom up.
struct Server {
  ServerConfig config;
  std::optional<DataDirectory> data_directory;
  RpcMetrics metrics{config.slow_call};
  std::unique_ptr<Shard> shard;
  std::unique_ptr<RpcServer> rpc;
  std::unique_ptr<HttpServer> http;
};

// Of the cold tier.
std::string RowsFolder(const ServerConfig& config) { return config.data_dir + "/rows"; }

absl::Status OpenDataDirectory(Server& server) {
  const ServerConfig& config = server.config;
  if (config.data_dir.empty()) return absl::OkStatus();
  const size_t shards = std::max<size_t>(config.shards.size(), 1);
  absl::StatusOr<DataDirectory> directory =
      DataDirectory::Open(config.data_dir, {.cluster_id = config.cluster_id,
                                            .shard = config.shard,
                                            .shards = static_cast<uint32_t>(shards),
                                            .partitions = config.partitions});
  if (!directory.ok()) return directory.status();
  server.data_directory = *std::move(directory);
  if (config.disk_budget_bytes == 0) {
    std::error_code ignored;
    if (std::filesystem::exists(RowsFolder(config), ignored)) {
      return absl::FailedPreconditionError(
          RowsFolder(config) +
          " holds rows on disk, and tiers.disk_budget is 0: give it a size, or move the folder "
          "away to start without these rows");
    }
    SPDLOG_WARN(
        "tables are held in memory only: {} keeps who this shard is, and no rows "
        "(tiers.disk_budget is 0)",
        config.data_dir);
  }
  return absl::OkStatus();
}

absl::Status Listen(Server& server) {
  const ServerConfig& config = server.config;
  absl::StatusOr<std::unique_ptr<RpcServer>> rpc =
      RpcServer::Listen({.listen = config.listen,
                         .unix_path = config.unix_path,
                         .admin_listen = config.admin_listen,
                         .cluster_id = config.data_dir.empty() ? "" : config.cluster_id,
                         .event_loops = config.event_loops,
                         .memory_bytes = config.rpc_memory_bytes,
                         .max_connections = config.max_connections,
                         .stream_limits = {.max_total_bytes = config.rpc_memory_bytes / 2}},
                        &server.metrics);
  if (!rpc.ok()) return rpc.status();
  server.rpc = *std::move(rpc);
  return absl::OkStatus();
}

// Every connection takes a descriptor, and the limit that most systems begin with is low.
void RaiseDescriptors(const ServerConfig& config) {
  constexpr int64_t kLow = 4096;
  const int64_t limit = RaiseDescriptorLimit();
  const int64_t fitting = ConnectionsUnder(limit);
  if (config.max_connections > fitting) {
    SPDLOG_WARN(
        "rpc.max_connections is {}, of which {} are sure of a descriptor: the limit of open files "
        "is {} (ulimit -Hn, LimitNOFILE)",
        config.max_connections, fitting, limit);
  } else if (limit < kLow && config.max_connections == 0) {
    SPDLOG_WARN(
        "the limit of open files is {}: at most {} connections are taken (raise ulimit -Hn or "
        "LimitNOFILE)",
        limit, fitting);
  }
}

// Where few processors carry clients, network and strands, a hand-over to another thread buys
// nothing: pulls of 2 MiB through a connection are a sixth faster without, four of them in flight.
int64_t LastPartHereBytes() {
  constexpr unsigned kFewProcessors = 4;
  const bool few = std::thread::hardware_concurrency() <= kFewProcessors;
  return few ? std::numeric_limits<int64_t>::max() : kShortRequestBytes;
}

std::optional<ColdOptions> ColdOptionsOf(const ServerConfig& config) {
  if (config.disk_budget_bytes == 0) return std::nullopt;
  return ColdOptions{.path = RowsFolder(config),
                     .disk_budget_bytes = config.disk_budget_bytes,
                     .memory_bytes = config.disk_memory_bytes,
                     .read_threads = config.disk_read_threads};
}

absl::Status CreateShard(Server& server) {
  const ServerConfig& config = server.config;
  std::vector<std::string> shards = config.shards;
  if (shards.empty()) shards.push_back(server.rpc->listen_address());
  absl::StatusOr<wire::ShardMap> map = wire::ShardMap::Static(shards, config.partitions);
  if (!map.ok()) return map.status();
  absl::StatusOr<std::unique_ptr<Shard>> shard =
      Shard::Create({.shard = config.shard,
                     .map = *std::move(map),
                     .memory_budget_bytes = config.hot_budget_bytes,
                     .warm_budget_bytes = config.warm_budget_bytes,
                     .cold = ColdOptionsOf(config),
                     .write_behind = {.max_bytes = config.write_queue_bytes / config.strands},
                     .max_queued_requests = config.max_queued_requests,
                     .max_queued_bytes = config.max_queued_bytes,
                     .max_sessions = config.max_sessions,
                     .session_idle = config.session_idle,
                     .strands = config.strands,
                     .last_part_here_bytes = LastPartHereBytes()});
  if (!shard.ok()) return shard.status();
  server.shard = *std::move(shard);
  if (const std::string note = server.shard->recovery_note(); !note.empty()) {
    SPDLOG_WARN("{}", note);
  }
  return absl::OkStatus();
}

SubPushCounts OutcomesOf(const ShardCounters& counters) {
  return {.applied = counters.sub_pushes_applied.value(),
          .duplicate = counters.sub_pushes_duplicate.value(),
          .refused = counters.sub_pushes_refused.value(),
          .retried = counters.sub_pushes_retried.value(),
          .conflicts = counters.content_conflicts.value(),
          .damaged = counters.damaged_sub_pushes.value()};
}

absl::Status StartPages(Server& server) {
  if (server.config.metrics.empty()) return absl::OkStatus();
  RpcServer* const rpc = server.rpc.get();
  Shard* const shard = server.shard.get();
  OpsSources sources{.state = [rpc] { return rpc->state(); },
                     .rpc = &server.metrics,
                     .stats = [shard] { return shard->GetStats(""); },
                     .sub_pushes = [shard] { return OutcomesOf(shard->counters()); },
                     .shard_map =
                         [shard] {
                           v1::ShardMap map;
                           shard->map().ToProto(&map);
                           return map;
                         },
                     .alive = [rpc] { return rpc->Alive(); },
                     .accepting = [rpc] { return rpc->Accepting(); },
                     .connections = [rpc] { return rpc->connections(); }};
  absl::StatusOr<std::unique_ptr<HttpServer>> http =
      HttpServer::Start(server.config.metrics, OpsPages(std::move(sources)));
  if (!http.ok()) return http.status();
  server.http = *std::move(http);
  return absl::OkStatus();
}

nlohmann::json ReadyFacts(const Server& server) {
  return {{"shard", server.config.shard},
          {"listen", server.rpc->listen_address()},
          {"unix", server.config.unix_path},
          {"admin", server.rpc->admin_address()},
          {"metrics", server.http == nullptr ? "" : server.http->address()},
          {"version", HOTROW_VERSION}};
}

absl::Status Start(Server& server) {
  if (absl::Status status = Listen(server); !status.ok()) return status;
  // What a life that was killed wrote there would pass for ours.
  if (absl::Status status = PrepareReadyFile(server.config.ready_file); !status.ok()) {
    return status;
  }
  if (absl::Status status = CreateShard(server); !status.ok()) return status;
  if (absl::Status status = StartPages(server); !status.ok()) return status;
  server.rpc->Serve(server.shard.get());
  if (absl::Status status = WriteReadyFile(server.config.ready_file, ReadyFacts(server));
      !status.ok()) {
    return status;
  }
  const auto also = [](const char* what, const std::string& address) {
    return address.empty() ? "" : what + address;
  };
  SPDLOG_INFO("hotrow-server {} serves shard {} on {}{}{}{}", HOTROW_VERSION, server.config.shard,
              server.rpc->listen_address(), also(" and unix:", server.config.unix_path),
              also(", admin on ", server.rpc->admin_address()),
              also(", metrics on ", server.http == nullptr ? "" : server.http->address()));
  return absl::OkStatus();
}

// False when rows could not be saved.
bool Stop(Server& server) {
  RemoveReadyFile(server.config.ready_file);
  server.rpc->StopServing();
  const auto now = std::chrono::steady_clock::now;
  const bool drained = server.shard->Drain(now() + server.config.drain_timeout);
  if (!drained) SPDLOG_WARN("requests were still unanswered after the drain timeout");
  server.rpc->Shutdown(now() + kGoodbye);
  const absl::Status saved = server.shard->Save();
  if (!saved.ok()) {
    SPDLOG_ERROR("rows could not be saved: {}; those changed since they last went to disk are lost",
                 std::string(saved.message()));
  }
  SPDLOG_INFO("stopped");
  ReportAllLeftOutLines();
  return saved.ok();
}

int WaitForSignal(const sigset_t& signals, RpcServer& rpc) {
  constexpr timespec kOneSecond = {.tv_sec = 1, .tv_nsec = 0};
  while (true) {
    const int signal_number = sigtimedwait(&signals, nullptr, &kOneSecond);
    if (signal_number > 0) return signal_number;
    rpc.ReportAlive();
    ReportLeftOutLines();
  }
}

int Run(int argc, char** argv, char** environment) {
  OpenStandardStreams();
  std::vector<std::string> variables;
  for (char** entry = environment; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  absl::StatusOr<CommandLine> command =
      ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc), variables);
  if (!command.ok()) return Fail(kBadConfiguration, command.status());
  if (command->answer.has_value()) {
    std::fputs(command->answer->c_str(), stdout);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return kSuccess;
    return Fail(kFailure, absl::UnavailableError("the answer could not be written"));
  }
  wire::TuneProcess();
  signal(SIGPIPE, SIG_IGN);
  // Blocked before any thread exists, so that only the wait below takes them.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const LogToTheEnd log;  // outlives the server
  Server server{.config = std::move(command->config)};
  SetUpLog(server.config.log_level, server.config.log_format, server.config.shard);
  RaiseDescriptors(server.config);
  if (absl::Status status = OpenDataDirectory(server); !status.ok()) {
    return Fail(kBadConfiguration, status);
  }
  if (absl::Status status = Start(server); !status.ok()) return Fail(kFailure, status);
  SPDLOG_INFO("signal {}: draining", WaitForSignal(signals, *server.rpc));
  return Stop(server) ? kSuccess : kFailure;
}

}  // namespace
}  // namespace hotrow

int main(int argc, char** argv, char** environment) { return hotrow::Run(argc, argv, environment); }
