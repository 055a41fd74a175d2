#include "client/src/client_core.h"

#include <unistd.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "client/src/grpc_process.h"
#include "client/src/pull_operation.h"
#include "client/src/push_operation.h"
#include "client/src/schema.h"
#include "client/src/validate.h"
#include "proto/wire/status_codec.h"

namespace hotrow {

using client::InvalidInput;
using client::Now;
using client::PullOperation;
using client::PushOperation;
using client::ShardChannel;
using client::TimePoint;

namespace {

constexpr std::chrono::seconds kConnectTimeout{30};

}  // namespace

ClientCore::ClientCore(ConnectOptions options, client::Cluster cluster)
    : options_(std::move(options)),
      pid_(getpid()),
      map_(std::make_shared<const wire::ShardMap>(std::move(cluster.map))),
      workspaces_(std::make_shared<client::WorkspacePool>()),
      budget_(options_.max_in_flight_bytes),
      session_({.job = options_.job, .rank = options_.rank, .world_size = options_.world_size},
               map_->partitions()) {
  const bool train = options_.access == Access::kTrain;
  for (uint32_t shard = 0; shard < map_->shards().size(); ++shard) {
    const std::string& address = map_->shards()[shard];
    ShardChannel::Options channel{.shard = shard,
                                  .address = address,
                                  .target = client::DialTarget(options_, address),
                                  .map = map_,
                                  .cluster_id = cluster.id,
                                  .keepalive = options_.keepalive,
                                  .recovery_timeout = options_.recovery_timeout,
                                  .alarm = &alarm_,
                                  .session = train ? &session_ : nullptr};
    channels_.push_back(std::make_unique<ShardChannel>(std::move(channel)));
    alarm_.Register(*channels_.back());
  }
  alarm_.Start();
  for (const auto& channel : channels_) channel->Start();
}

ClientCore::~ClientCore() { (void)Close(); }

absl::StatusOr<std::shared_ptr<ClientCore>> ClientCore::Connect(ConnectOptions options) {
  absl::Status status = client::ValidateOptions(options);
  if (status.ok()) status = client::EnterGrpc();
  if (!status.ok()) return status;
  const TimePoint deadline = client::DeadlineIn(options.timeout.value_or(kConnectTimeout));
  absl::StatusOr<client::Cluster> cluster = client::FetchShardMap(options, deadline);
  if (!cluster.ok()) return cluster.status();
  // A child of fork() has none of the threads that the destructor would stop: it leaks instead.
  std::shared_ptr<ClientCore> core(new ClientCore(std::move(options), *std::move(cluster)),
                                   [](ClientCore* owned) {
                                     if (!owned->forked()) delete owned;
                                   });
  if (core->options_.access == Access::kTrain) {
    status = core->WaitForShards(deadline);
    if (!status.ok()) return status;
  }
  return core;
}

absl::Status ClientCore::WaitForShards(TimePoint deadline) {
  for (const auto& channel : channels_) {
    const absl::Status status = channel->WaitUntilUp(deadline);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

bool ClientCore::forked() const { return getpid() != pid_; }

absl::Status ClientCore::CheckUsable() const {
  if (forked()) return client::ForkedError();
  // Acquire pairs with the release in Close: whoever sees false may still be overtaken by it, and
  // then gets the queues' Closed error.
  if (closed_.load(std::memory_order_acquire)) return client::ClosedError();
  return absl::OkStatus();
}

std::shared_ptr<TableState> ClientCore::KnowTable(const TableInfo& info) {
  MutexLock lock(tables_mutex_);
  std::shared_ptr<TableState>& state = tables_[info.table_id];
  if (state == nullptr) state = std::make_shared<TableState>(info);
  return state;
}

void ClientCore::ForgetTable(std::string_view name) {
  MutexLock lock(tables_mutex_);
  std::erase_if(tables_, [&](const auto& entry) { return entry.second->info.schema.name == name; });
}

void ClientCore::StartPull(std::span<const PullPart> parts, const PullOptions& options,
                           PullDone done) {
  absl::Status status = CheckUsable();
  for (size_t i = 0; i < parts.size() && status.ok(); ++i) {
    status = client::ValidateKeys(parts[i].table->info.schema, parts[i].keys, parts[i].skip);
  }
  if (!status.ok()) return done(status);

  const client::Patience patience = PatienceOf(options.timeout);
  auto operation = std::make_shared<PullOperation>(PullOperation::Environment{
      .map = map_,
      .workspaces = workspaces_,
      .mode = options.read_only ? wire::PullMode::kReadOnly : wire::PullMode::kTrain,
      .patience = patience,
      .enqueue = [this](uint32_t shard, std::shared_ptr<client::ShardRequest> request) {
        channels_[shard]->pulls().Enqueue(std::move(request));
        channels_[shard]->pulls().Pump();
      }});
  for (const PullPart& part : parts) operation->AddTable(part.table, part.keys, part.skip);
  const int64_t bytes = operation->bytes();
  status = TakeBytes(bytes, patience);
  if (!status.ok()) return done(status);
  PullOperation* const started = operation.get();  // its messages keep it alive until `done`
  operation->Start([this, started, bytes, done = std::move(done)](const absl::Status& result) {
    budget_.Release(bytes);
    if (result.ok()) {
      done(started->Batches());
    } else {
      done(result);
    }
  });
}

absl::Status ClientCore::CheckPush(std::span<const PushPart> parts,
                                   wire::Operation operation) const {
  absl::Status status = CheckUsable();
  if (!status.ok()) return status;
  if (options_.access != Access::kTrain) {
    return InvalidInput("", "a client that was connected to inspect cannot push",
                        "Connect with Access::kTrain.");
  }
  status = session_.lost();
  if (!status.ok()) return status;
  std::set<uint32_t> tables;
  for (const PushPart& part : parts) {
    const TableSchema& schema = part.table->info.schema;
    if (!tables.insert(part.table->info.table_id).second) {
      return InvalidInput(schema.name,
                          absl::StrCat("table '", schema.name, "' is in this push twice"),
                          "Put all its keys into one entry.");
    }
    status = client::ValidateKeys(schema, part.keys, std::nullopt);
    if (!status.ok()) return status;
    status = client::ValidateStep(schema, part.options);
    if (!status.ok()) return status;
    if (operation == wire::Operation::kRemove) continue;
    status = client::ValidateRows(schema, part.keys.size(), part.rows.size());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<PushOperation>> ClientCore::TryPush(std::span<const PushPart> parts,
                                                                   wire::Operation operation,
                                                                   const PushState& state) {
  absl::Status status = CheckPush(parts, operation);
  if (!status.ok()) return status;
  std::vector<PushOperation::TablePart> tables;
  std::optional<std::chrono::milliseconds> timeout;
  int64_t bytes = 0;
  std::unique_ptr<client::BatchWorkspace> workspace = workspaces_->Take();
  for (const PushPart& part : parts) {
    absl::StatusOr<client::PushPayload> payload = client::BuildPushPayload(
        {.table = part.table, .keys = part.keys, .rows = part.rows, .operation = operation}, *map_,
        *workspace);
    if (!payload.ok()) {
      workspaces_->Give(std::move(workspace));
      return payload.status();
    }
    bytes += payload->bytes();
    timeout = std::max(timeout, part.options.timeout);
    tables.push_back({.state = part.table, .payload = *std::move(payload)});
  }
  workspaces_->Give(std::move(workspace));
  status = TakeBytes(bytes, PatienceOf(timeout));
  if (!status.ok()) return status;

  // From here on the push happens, or the session is lost: its step counts.
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool push = operation == wire::Operation::kPush;
    const float lr = client::DefaultLearningRate(tables[i].state->info.schema);
    tables[i].learning_rate = push ? parts[i].options.learning_rate.value_or(lr) : 0.0F;
    tables[i].step = push ? tables[i].state->TakeStep(parts[i].options.step)
                          : std::max<uint64_t>(tables[i].state->highest_step(), 1);
  }
  auto started = std::make_shared<PushOperation>(
      PushOperation::Environment{
          .map = map_,
          .session = &session_,
          .operation = operation,
          .enqueue =
              [this](uint32_t shard, std::shared_ptr<client::ShardRequest> request) {
                channels_[shard]->pushes().Enqueue(std::move(request));
              }},
      std::move(tables));
  const uint64_t push = session_.Begin();
  status = started->Start([this, bytes, push, state = PushState(state)](
                              const absl::StatusOr<PushCounts>& result) mutable {
    budget_.Release(bytes);
    state->Set(result);
    state.reset();  // first: whoever waits for this push then finds what nobody claims
    session_.Finished(push);
  });
  if (!status.ok()) {
    budget_.Release(bytes);
    session_.Finished(push);
    return status;
  }
  for (const auto& channel : channels_) channel->pushes().Pump();
  return started;
}

Future<PushCounts> ClientCore::StartPush(std::span<const PushPart> parts,
                                         wire::Operation operation) {
  const auto state = std::make_shared<Future<PushCounts>::State>(unclaimed_);
  const auto started = TryPush(parts, operation, state);
  if (!started.ok()) {
    state->Set(started.status());
    return Future<PushCounts>(state);
  }
  state->SetOutage([core = weak_from_this(), push = std::weak_ptr(*started)] {
    const auto owner = core.lock();
    const auto pending = push.lock();
    if (owner == nullptr || pending == nullptr) return absl::OkStatus();
    const absl::Status outage = owner->OutageOf(*pending);
    return outage.ok() ? outage : owner->StillPending(outage, *pending);
  });
  return Future<PushCounts>(state);
}

absl::StatusOr<PushCounts> ClientCore::PushAndWait(std::span<const PushPart> parts,
                                                   wire::Operation operation) {
  std::optional<std::chrono::milliseconds> timeout;
  for (const PushPart& part : parts) timeout = std::max(timeout, part.options.timeout);
  const client::Patience patience = PatienceOf(timeout);
  const auto state = std::make_shared<Future<PushCounts>::State>(unclaimed_);
  const auto started = TryPush(parts, operation, state);
  if (!started.ok()) return started.status();
  std::optional<absl::StatusOr<PushCounts>> result;
  const Wait wait{
      .wait = [&](TimePoint until) { return (result = state->Take(until)).has_value(); },
      .shards = [&] { return (*started)->open_shards(); }};
  const absl::Status outage = WaitThroughOutages(wait, patience);
  if (!result.has_value()) return StillPending(outage, **started);
  return *std::move(result);
}

void ClientCore::CloseSessions() {
  if (options_.access != Access::kTrain || !session_.lost().ok()) return;
  v1::CloseSessionRequest request;
  request.set_session(session_.id());
  // A courtesy: a shard that does not answer drops the session by itself.
  const TimePoint deadline = std::min(DeadlineOf(std::nullopt), Now() + std::chrono::seconds(1));
  (void)client::AskShards<v1::CloseSessionResponse>(
      channels_, deadline,
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.parameter().AsyncCloseSession(context, request, queue);
      });
}

absl::Status ClientCore::Close() {
  if (forked()) return client::ForkedError();
  closed_.store(true, std::memory_order_release);
  MutexLock lock(close_mutex_);
  if (torn_down_) return absl::OkStatus();
  torn_down_ = true;
  const absl::Status flushed = FlushAtClose();
  CloseSessions();
  alarm_.Stop();
  for (const auto& channel : channels_) channel->Stop();
  return flushed;
}

}  // namespace hotrow
