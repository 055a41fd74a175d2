#include <fmt/format.h>

#include <utility>

#include "hotrow/v1/admin_service.pb.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/status_codec.h"
#include "server/shard/request_errors.h"
#include "server/shard/shard_impl.h"

namespace hotrow {
namespace {

// Runs `work` on the strand and returns what it returned; `stopped` when the strand is gone.
template <typename T, typename Work>
T OnStrand(Strand& strand, T stopped, Work work) {
  T result = std::move(stopped);
  strand.Run([&] { result = work(); });
  return result;
}

void FillNextSequences(ShardState& state, uint64_t session, v1::OpenSessionResponse* response) {
  for (uint32_t number = 0; number < state.partitions.count(); ++number) {
    Partition* partition = state.partitions.Find(number);
    const PushWindow* window = partition == nullptr ? nullptr : partition->FindWindow(session);
    if (window == nullptr) continue;
    v1::NextSequence* next = response->add_next_sequences();
    next->set_partition(number);
    next->set_sequence(window->next());
    // Tables of this version promise to survive nothing, which what is applied does.
    next->set_durable_sequence(window->next());
  }
}

void FillOwnerEpochs(const ShardState& state, v1::ShardMap* map) {
  map->clear_owner_epochs();
  for (uint32_t partition = 0; partition < state.partitions.count(); ++partition) {
    map->add_owner_epochs(state.partitions.Owns(partition) ? state.server_start_id : 0);
  }
}

void FillShardStats(const ShardState& state, int64_t uptime_ms, v1::GetStatsResponse* response) {
  const ShardCounters& counters = state.counters;
  response->set_shard(state.options.shard);
  response->set_version(HOTROW_VERSION);
  response->set_uptime_ms(uptime_ms);
  response->set_memory_budget_bytes(state.options.memory_budget_bytes);
  response->set_sessions(state.sessions.size());
  response->set_sessions_expired(state.sessions.expired());
  response->set_pull_requests(counters.pull_requests.value());
  response->set_push_requests(counters.push_requests.value());
  response->set_sub_pushes_applied(counters.sub_pushes_applied.value());
  response->set_sub_pushes_duplicate(counters.sub_pushes_duplicate.value());
  response->set_requests_failed(counters.requests_failed.value());
  uint64_t used = 0;
  for (const auto& [name, entry] : state.tables.by_name()) used += entry.table->allocated_bytes();
  response->set_memory_used_bytes(used);
}

}  // namespace

absl::StatusOr<v1::OpenSessionResponse> Shard::OpenSession(const v1::OpenSessionRequest& request) {
  Impl& impl = *impl_;
  const absl::Status draining = impl.Signed(wire::ToStatus(Draining()));
  if (impl.draining.load(std::memory_order_relaxed)) return draining;
  using Response = absl::StatusOr<v1::OpenSessionResponse>;
  return OnStrand<Response>(*impl.strand, draining, [&]() -> Response {
    std::vector<uint64_t> ended;
    const absl::Status opened =
        impl.state.sessions.Open(request, std::chrono::steady_clock::now(), &ended);
    for (const uint64_t session : ended) impl.state.partitions.Forget(session);
    if (!opened.ok()) return impl.Signed(opened);
    v1::OpenSessionResponse response;
    response.set_session(request.session());
    response.set_server_start_id(impl.state.server_start_id);
    impl.state.options.map.ToProto(response.mutable_shard_map());
    FillOwnerEpochs(impl.state, response.mutable_shard_map());
    FillNextSequences(impl.state, request.session(), &response);
    return response;
  });
}

absl::Status Shard::CloseSession(uint64_t session) {
  Impl& impl = *impl_;
  return OnStrand<absl::Status>(*impl.strand, impl.Signed(wire::ToStatus(Draining())), [&] {
    const absl::Status closed = impl.state.sessions.Close(session);
    impl.state.partitions.Forget(session);
    return impl.Signed(closed);
  });
}

absl::StatusOr<v1::CreateTableResponse> Shard::CreateTable(const v1::CreateTableRequest& request) {
  Impl& impl = *impl_;
  const absl::Status draining = impl.Signed(wire::ToStatus(Draining()));
  if (impl.draining.load(std::memory_order_relaxed)) return draining;
  using Response = absl::StatusOr<v1::CreateTableResponse>;
  return OnStrand<Response>(*impl.strand, draining, [&]() -> Response {
    auto created = impl.state.tables.Create(request);
    if (!created.ok()) return impl.Signed(created.status());
    return created;
  });
}

absl::StatusOr<v1::TableDescription> Shard::DescribeTable(const std::string& name) {
  Impl& impl = *impl_;
  using Response = absl::StatusOr<v1::TableDescription>;
  const absl::Status stopped = impl.Signed(wire::ToStatus(Draining()));
  return OnStrand<Response>(*impl.strand, stopped, [&]() -> Response {
    const TableEntry* entry = std::as_const(impl.state.tables).Find(name);
    if (entry == nullptr) return impl.Signed(wire::ToStatus(NoSuchTable(name)));
    return entry->Describe();
  });
}

std::vector<v1::TableDescription> Shard::ListTables() {
  Impl& impl = *impl_;
  using Response = std::vector<v1::TableDescription>;
  return OnStrand<Response>(*impl.strand, {}, [&] {
    Response tables;
    for (const auto& [name, entry] : impl.state.tables.by_name()) {
      tables.push_back(entry.Describe());
    }
    return tables;
  });
}

absl::StatusOr<uint64_t> Shard::DropTable(const std::string& name) {
  Impl& impl = *impl_;
  const absl::Status draining = impl.Signed(wire::ToStatus(Draining()));
  if (impl.draining.load(std::memory_order_relaxed)) return draining;
  using Dropped = absl::StatusOr<std::unique_ptr<Table>>;
  const Dropped dropped =
      OnStrand<Dropped>(*impl.strand, draining, [&] { return impl.state.tables.Drop(name); });
  if (!dropped.ok()) return impl.Signed(dropped.status());
  return static_cast<uint64_t>((*dropped)->rows());  // the memory is given back on this thread
}

absl::StatusOr<v1::GetStatsResponse> Shard::GetStats(const std::string& table) {
  Impl& impl = *impl_;
  using Response = absl::StatusOr<v1::GetStatsResponse>;
  const absl::Status stopped = impl.Signed(wire::ToStatus(Draining()));
  return OnStrand<Response>(*impl.strand, stopped, [&]() -> Response {
    v1::GetStatsResponse response;
    const auto uptime = std::chrono::steady_clock::now() - impl.started;
    FillShardStats(impl.state,
                   std::chrono::duration_cast<std::chrono::milliseconds>(uptime).count(),
                   &response);
    response.set_state(impl.draining.load(std::memory_order_relaxed) ? "draining" : "serving");
    if (!table.empty() && std::as_const(impl.state.tables).Find(table) == nullptr) {
      return impl.Signed(wire::ToStatus(NoSuchTable(table)));
    }
    for (const auto& [name, entry] : impl.state.tables.by_name()) {
      if (table.empty() || table == name) entry.FillStats(response.add_tables());
    }
    return response;
  });
}

}  // namespace hotrow
