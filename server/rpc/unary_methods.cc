#include "server/rpc/unary_methods.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

// Binds a method to the generated Request function of its service.
#define HOTROW_ACCEPT(service, name)                                                    \
  [environment = environment_](auto* context, auto* request, auto* writer, auto* queue, \
                               void* tag) {                                             \
    environment->service.Request##name(context, request, writer, queue, queue, tag);    \
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

absl::Status DeclaredOnly(const char* method) {
  return wire::ToStatus({.kind = wire::ErrorKind::kUnimplemented,
                         .message = std::string(method) + " is not offered by this version",
                         .hint = "tables live in memory on a fixed list of shards"});
}

}  // namespace

UnaryMethods::UnaryMethods(CallEnvironment* environment) : environment_(environment) {
  BindSessions();
  BindTables();
  BindOperations();
  BindDeclaredOnly();
}

void UnaryMethods::BindSessions() {
  open_session_ = {
      Method::kOpenSession, HOTROW_ACCEPT(parameters, OpenSession),
      [this](const v1::OpenSessionRequest& request, v1::OpenSessionResponse* response) {
        return StoreOr(environment_->shard->OpenSession(request),
                       [&](auto value) { *response = std::move(value); });
      }};
  close_session_ = {Method::kCloseSession, HOTROW_ACCEPT(parameters, CloseSession),
                    [this](const v1::CloseSessionRequest& request, v1::CloseSessionResponse*) {
                      return environment_->shard->CloseSession(request.session());
                    }};
}

void UnaryMethods::BindTables() {
  create_table_ = {
      Method::kCreateTable, HOTROW_ACCEPT(admin, CreateTable),
      [this](const v1::CreateTableRequest& request, v1::CreateTableResponse* response) {
        return StoreOr(environment_->shard->CreateTable(request),
                       [&](auto value) { *response = std::move(value); });
      }};
  describe_table_ = {
      Method::kDescribeTable, HOTROW_ACCEPT(admin, DescribeTable),
      [this](const v1::DescribeTableRequest& request, v1::DescribeTableResponse* response) {
        return StoreOr(environment_->shard->DescribeTable(request.name()),
                       [&](auto value) { *response->mutable_table() = std::move(value); });
      }};
  list_tables_ = {Method::kListTables, HOTROW_ACCEPT(admin, ListTables),
                  [this](const v1::ListTablesRequest&, v1::ListTablesResponse* response) {
                    for (auto& table : environment_->shard->ListTables()) {
                      *response->add_tables() = std::move(table);
                    }
                    return absl::OkStatus();
                  }};
  drop_table_ = {Method::kDropTable, HOTROW_ACCEPT(admin, DropTable),
                 [this](const v1::DropTableRequest& request, v1::DropTableResponse* response) {
                   return StoreOr(environment_->shard->DropTable(request.name()),
                                  [&](uint64_t rows) { response->set_rows(rows); });
                 }};
}

void UnaryMethods::BindOperations() {
  get_stats_ = {Method::kGetStats, HOTROW_ACCEPT(admin, GetStats),
                [this](const v1::GetStatsRequest& request, v1::GetStatsResponse* response) {
                  return StoreOr(environment_->shard->GetStats(request.table()),
                                 [&](auto value) { *response = std::move(value); });
                }};
  get_shard_map_ = {Method::kGetShardMap, HOTROW_ACCEPT(admin, GetShardMap),
                    [this](const v1::GetShardMapRequest&, v1::GetShardMapResponse* response) {
                      const Shard& shard = *environment_->shard;
                      shard.map().ToProto(response->mutable_shard_map());
                      response->set_shard(shard.shard());
                      response->set_cluster_id(environment_->cluster_id);
                      response->set_server_start_id(shard.server_start_id());
                      return absl::OkStatus();
                    }};
  drain_ = {Method::kDrain, HOTROW_ACCEPT(admin, Drain),
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
            }};
}

void UnaryMethods::BindDeclaredOnly() {
  create_checkpoint_ = {Method::kCreateCheckpoint, HOTROW_ACCEPT(admin, CreateCheckpoint),
                        [](const auto&, auto*) { return DeclaredOnly("CreateCheckpoint"); }};
  restore_ = {Method::kRestore, HOTROW_ACCEPT(admin, Restore),
              [](const auto&, auto*) { return DeclaredOnly("Restore"); }};
  reshard_ = {Method::kReshard, HOTROW_ACCEPT(admin, Reshard),
              [](const auto&, auto*) { return DeclaredOnly("Reshard"); }};
}

template <typename Request, typename Response>
void UnaryMethods::StartOne(const UnaryMethod<Request, Response>& method,
                            grpc::ServerCompletionQueue* queue) const {
  std::make_shared<UnaryCall<Request, Response>>(&method, environment_, queue)->Start();
}

void UnaryMethods::Start(grpc::ServerCompletionQueue* queue) const {
  StartOne(open_session_, queue);
  StartOne(close_session_, queue);
  StartOne(create_table_, queue);
  StartOne(describe_table_, queue);
  StartOne(list_tables_, queue);
  StartOne(drop_table_, queue);
  StartOne(get_stats_, queue);
  StartOne(get_shard_map_, queue);
  StartOne(drain_, queue);
  StartOne(create_checkpoint_, queue);
  StartOne(restore_, queue);
  StartOne(reshard_, queue);
}

}  // namespace hotrow
