#include "server/rpc/unary_methods.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

// Binds a method to the generated Request function of its service.
#define HOTROW_ACCEPT(service, name)                                                      \
  [plane = service](auto* context, auto* request, auto* writer, auto* queue, void* tag) { \
    plane->Request##name(context, request, writer, queue, queue, tag);                    \
  }

namespace hotrow {
namespace {

constexpr uint32_t kDefaultDrainMs = 10'000;
constexpr uint32_t kMaxDrainMs = 600'000;

// Moves a result into the response of a call.
template <typename Value, typename Store>
absl::Status StoreOr(absl::StatusOr<Value> result, Store store) {
  if (!result.ok()) return result.status();
  store(*std::move(result));
  return absl::OkStatus();
}

uint64_t Microseconds(std::chrono::nanoseconds time) {
  return static_cast<uint64_t>(std::max<int64_t>(0, time.count())) / 1000;
}

void FillSlowCall(const SlowCall& call, v1::SlowCall* message) {
  const auto answered = std::chrono::floor<std::chrono::milliseconds>(call.answered);
  message->set_answered_ms(static_cast<uint64_t>(answered.time_since_epoch().count()));
  message->set_method(NameOf(call.method));
  message->set_request_id(call.request_id);
  message->set_code(call.code);
  message->set_keys(call.keys);
  message->set_received_bytes(call.received_bytes);
  message->set_sent_bytes(call.sent_bytes);
  message->set_peer(call.peer);
  message->set_trace_id(call.trace_id);
  message->set_duration_us(Microseconds(call.duration));
  for (const auto& [stage, time] : call.stages) {
    v1::StageTime* part = message->add_stages();
    part->set_stage(stage);
    part->set_duration_us(Microseconds(time));
  }
}

// For the audit log, of calls that name no table.
constexpr auto NoTable = [](const auto&) { return std::string(); };

absl::Status DeclaredOnly(const char* method) {
  return wire::ToStatus({.kind = wire::ErrorKind::kUnimplemented,
                         .message = std::string(method) + " is not offered by this version",
                         .hint = "tables live in memory on a fixed list of shards"});
}

}  // namespace

UnaryMethods::UnaryMethods(CallEnvironment* environment, Listener listener)
    : environment_(environment),
      listener_(listener),
      plane_(listener == Listener::kData ? &environment->admin : &environment->admin_only) {
  BindSessions();
  BindTables();
  BindOperations();
  BindSlowCalls();
  BindDeclaredOnly();
  if (listener == Listener::kData && !environment->admin_address.empty()) RefuseAdminOnly();
}

// What trainers call stays with the data: tables are made, described and counted by every worker,
// and the shard map is how it finds the shards. What is left drops rows, ends the service or names
// other clients.
void UnaryMethods::RefuseAdminOnly() {
  const auto refuse = [this](auto& method) {
    method.handle = [address = environment_->admin_address, name = NameOf(method.method)](
                        const auto&, auto*) {
      return wire::ToStatus(
          {.kind = wire::ErrorKind::kPermissionDenied,
           .message = std::string(name) + " is served on the admin listener only, " + address,
           .hint = "hotrowctl calls it there (drop, drain, slowlog)"});
    };
  };
  refuse(drop_table_);
  refuse(get_slow_calls_);
  refuse(drain_);
  refuse(create_checkpoint_);
  refuse(restore_);
  refuse(reshard_);
}

void UnaryMethods::BindSessions() {
  open_session_ = {
      Method::kOpenSession, HOTROW_ACCEPT(&environment_->parameters, OpenSession),
      [this](const v1::OpenSessionRequest& request, v1::OpenSessionResponse* response) {
        return StoreOr(environment_->shard->OpenSession(request),
                       [&](auto value) { *response = std::move(value); });
      }};
  close_session_ = {Method::kCloseSession, HOTROW_ACCEPT(&environment_->parameters, CloseSession),
                    [this](const v1::CloseSessionRequest& request, v1::CloseSessionResponse*) {
                      return environment_->shard->CloseSession(request.session());
                    }};
}

void UnaryMethods::BindTables() {
  create_table_ = {
      Method::kCreateTable, HOTROW_ACCEPT(plane_, CreateTable),
      [this](const v1::CreateTableRequest& request, v1::CreateTableResponse* response) {
        return StoreOr(environment_->shard->CreateTable(request),
                       [&](auto value) { *response = std::move(value); });
      },
      [](const v1::CreateTableRequest& request) { return request.schema().name(); }};
  describe_table_ = {
      Method::kDescribeTable, HOTROW_ACCEPT(plane_, DescribeTable),
      [this](const v1::DescribeTableRequest& request, v1::DescribeTableResponse* response) {
        return StoreOr(environment_->shard->DescribeTable(request.name()),
                       [&](auto value) { *response->mutable_table() = std::move(value); });
      }};
  list_tables_ = {Method::kListTables, HOTROW_ACCEPT(plane_, ListTables),
                  [this](const v1::ListTablesRequest&, v1::ListTablesResponse* response) {
                    for (auto& table : environment_->shard->ListTables()) {
                      *response->add_tables() = std::move(table);
                    }
                    return absl::OkStatus();
                  }};
  drop_table_ = {Method::kDropTable, HOTROW_ACCEPT(plane_, DropTable),
                 [this](const v1::DropTableRequest& request, v1::DropTableResponse* response) {
                   return StoreOr(environment_->shard->DropTable(request.name()),
                                  [&](uint64_t rows) { response->set_rows(rows); });
                 },
                 [](const v1::DropTableRequest& request) { return request.name(); }};
}

void UnaryMethods::BindOperations() {
  get_stats_ = {Method::kGetStats, HOTROW_ACCEPT(plane_, GetStats),
                [this](const v1::GetStatsRequest& request, v1::GetStatsResponse* response) {
                  return StoreOr(environment_->shard->GetStats(request.table()),
                                 [&](auto value) { *response = std::move(value); });
                }};
  get_shard_map_ = {Method::kGetShardMap, HOTROW_ACCEPT(plane_, GetShardMap),
                    [this](const v1::GetShardMapRequest&, v1::GetShardMapResponse* response) {
                      const Shard& shard = *environment_->shard;
                      shard.map().ToProto(response->mutable_shard_map());
                      response->set_shard(shard.shard());
                      response->set_cluster_id(environment_->cluster_id);
                      response->set_server_start_id(shard.server_start_id());
                      response->set_admin_address(environment_->admin_address);
                      return absl::OkStatus();
                    }};
  drain_ = {Method::kDrain, HOTROW_ACCEPT(plane_, Drain),
            [this](const v1::DrainRequest& request, v1::DrainResponse*) {
              const uint32_t wished =
                  request.timeout_ms() == 0 ? kDefaultDrainMs : request.timeout_ms();
              const std::chrono::milliseconds timeout(std::min(wished, kMaxDrainMs));
              environment_->on_drain();
              if (environment_->shard->Drain(std::chrono::steady_clock::now() + timeout)) {
                return absl::OkStatus();
              }
              return wire::MakeError(wire::ErrorKind::kDeadlineExceeded,
                                     "accepted requests were still unanswered at the timeout");
            },
            NoTable};
}

void UnaryMethods::BindSlowCalls() {
  get_slow_calls_ = {
      Method::kGetSlowCalls, HOTROW_ACCEPT(plane_, GetSlowCalls),
      [this](const v1::GetSlowCallsRequest& request, v1::GetSlowCallsResponse* response) {
        const SlowLog& log = environment_->metrics->slow_log();
        const size_t limit = request.limit() == 0 ? SlowLog::kKept : request.limit();
        for (const SlowCall& call : log.Newest(limit)) FillSlowCall(call, response->add_calls());
        response->set_threshold_ms(static_cast<uint64_t>(log.threshold().count()));
        return absl::OkStatus();
      }};
}

void UnaryMethods::BindDeclaredOnly() {
  create_checkpoint_ = {Method::kCreateCheckpoint, HOTROW_ACCEPT(plane_, CreateCheckpoint),
                        [](const auto&, auto*) { return DeclaredOnly("CreateCheckpoint"); },
                        NoTable};
  restore_ = {Method::kRestore, HOTROW_ACCEPT(plane_, Restore),
              [](const auto&, auto*) { return DeclaredOnly("Restore"); }, NoTable};
  reshard_ = {Method::kReshard, HOTROW_ACCEPT(plane_, Reshard),
              [](const auto&, auto*) { return DeclaredOnly("Reshard"); }, NoTable};
}

template <typename Request, typename Response>
void UnaryMethods::StartOne(const UnaryMethod<Request, Response>& method,
                            grpc::ServerCompletionQueue* queue) const {
  std::make_shared<UnaryCall<Request, Response>>(&method, environment_, queue)->Start();
}

void UnaryMethods::Start(grpc::ServerCompletionQueue* queue) const {
  if (listener_ == Listener::kData) {
    StartOne(open_session_, queue);
    StartOne(close_session_, queue);
  }
  StartOne(create_table_, queue);
  StartOne(describe_table_, queue);
  StartOne(list_tables_, queue);
  StartOne(drop_table_, queue);
  StartOne(get_stats_, queue);
  StartOne(get_shard_map_, queue);
  StartOne(get_slow_calls_, queue);
  StartOne(drain_, queue);
  StartOne(create_checkpoint_, queue);
  StartOne(restore_, queue);
  StartOne(reshard_, queue);
}

}  // namespace hotrow
