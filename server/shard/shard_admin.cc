#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hotrow/v1/admin_service.pb.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/status_codec.h"
#include "server/shard/request_errors.h"
#include "server/shard/shard_impl.h"

namespace hotrow {
namespace {

using Strands = std::vector<std::unique_ptr<StrandUnit>>;

// Runs `work` on one strand after the other until one gives an error. `stopped` is the error of a
// strand that is gone.
template <typename Work>
absl::Status OnEachStrand(const Strands& strands, const absl::Status& stopped, Work work) {
  for (const auto& unit : strands) {
    absl::Status status;
    const bool ran = unit->strand.Run([&] { status = work(unit->state); });
    if (!ran) return stopped;
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void ForgetSessions(StrandState& state, const std::vector<uint64_t>& sessions) {
  for (const uint64_t session : sessions) state.partitions.Forget(session);
}

void FillNextSequences(StrandState& state, uint64_t session, v1::OpenSessionResponse* response) {
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
  for (uint32_t partition = 0; partition < state.strand_map.partitions(); ++partition) {
    map->add_owner_epochs(state.strand_map.Owns(partition) ? state.server_start_id : 0);
  }
}

v1::TableDescription Describe(const TableEntry& entry, uint64_t highest_step) {
  v1::TableDescription description;
  description.set_table_id(entry.id);
  *description.mutable_schema() = entry.schema;
  description.set_row_bytes(static_cast<uint32_t>(entry.options.layout().row_bytes));
  description.set_highest_step(highest_step);
  return description;
}

void AddTier(std::string_view name, const TierSize& size, uint64_t rows_pulled,
             v1::TableStats* stats) {
  v1::TierStats* tier = nullptr;
  for (v1::TierStats& known : *stats->mutable_tiers()) {
    if (known.name() == name) tier = &known;
  }
  if (tier == nullptr) {
    tier = stats->add_tiers();
    tier->set_name(std::string(name));
  }
  tier->set_rows(tier->rows() + size.rows);
  tier->set_used_bytes(tier->used_bytes() + size.used_bytes);
  tier->set_rows_pulled(tier->rows_pulled() + rows_pulled);
}

void AddTiers(const TierStack& tiers, v1::TableStats* stats) {
  const RowStore& hot = tiers.hot();
  const TierReads& reads = tiers.reads();
  AddTier("hot", {hot.rows(), hot.allocated_bytes()}, reads.hot, stats);
  if (tiers.warm() != nullptr) AddTier("warm", tiers.warm()->Size(), reads.warm, stats);
  if (tiers.cold() != nullptr) AddTier("cold", tiers.cold()->Size(), reads.cold, stats);
  const TierMoves& moves = tiers.moves();
  stats->set_promotions(stats->promotions() + moves.promotions);
  stats->set_evictions(stats->evictions() + moves.evictions);
  stats->set_eviction_failures(stats->eviction_failures() + moves.eviction_failures);
  stats->set_tier_read_failures(stats->tier_read_failures() + moves.read_failures);
}

// Adds what one strand holds of a table.
void AddStats(Table& table, v1::TableStats* stats) {
  AddTiers(table.tiers(), stats);
  const TableCounters& counters = table.counters();
  stats->set_rows(stats->rows() + table.rows());
  stats->set_used_bytes(stats->used_bytes() + table.rows() * table.layout().row_bytes);
  stats->set_allocated_bytes(stats->allocated_bytes() + table.allocated_bytes());
  stats->set_rows_pulled(stats->rows_pulled() + counters.rows_pulled);
  stats->set_rows_pulled_initial(stats->rows_pulled_initial() + counters.rows_pulled_initial);
  stats->set_rows_pushed(stats->rows_pushed() + counters.rows_pushed);
  stats->set_rows_created(stats->rows_created() + counters.rows_created);
  stats->set_rows_refused(stats->rows_refused() + counters.rows_refused);
  stats->set_gradients_refused(stats->gradients_refused() + counters.gradients_refused);
  stats->set_highest_step(std::max<uint64_t>(stats->highest_step(), counters.highest_step));
  stats->set_slots(stats->slots() + table.slots());
  stats->set_gradients_nonfinite(stats->gradients_nonfinite() + counters.gradients_nonfinite);
  stats->set_keys_pushed(stats->keys_pushed() + counters.keys_pushed);
  stats->set_keys_pushed_unique(stats->keys_pushed_unique() + counters.keys_pushed_unique);
}

template <const auto& kBounds>
void Fill(const HistogramTotals<kBounds.size()>& totals, v1::Histogram* histogram) {
  for (const uint64_t bound : kBounds) histogram->add_bounds(bound);
  for (const uint64_t count : totals.counts) histogram->add_counts(count);
  histogram->set_sum(totals.sum);
}

// What the strands measure over all tables. Read without asking them: the counts are atomic.
void FillHistograms(const Strands& strands, v1::GetStatsResponse* response) {
  StepHistogram::Totals staleness;
  std::array<DurationHistogram::Totals, kOptimizerKinds> apply;
  for (const auto& unit : strands) {
    const StrandHistograms& histograms = unit->state.tables.histograms();
    histograms.push_staleness.AddTo(staleness);
    for (size_t i = 0; i < apply.size(); ++i) histograms.optimizer_apply[i].AddTo(apply[i]);
  }
  Fill<kStepBounds>(staleness, response->mutable_push_staleness_steps());
  for (size_t i = 0; i < apply.size(); ++i) {
    v1::OptimizerTimes* times = response->add_optimizer_times();
    times->set_optimizer(std::string(OptimizerName(static_cast<OptimizerKind>(i))));
    Fill<kDurationBounds>(apply[i], times->mutable_apply_ns());
  }
}

void FillColdStats(const ColdStats& stats, v1::ColdTierStats* out) {
  out->set_live_bytes(stats.live_bytes);
  out->set_disk_bytes(stats.disk_bytes);
  out->set_memory_bytes(stats.memory_bytes);
  out->set_pending_compaction_bytes(stats.pending_compaction_bytes);
  out->set_write_stopped(stats.stopped);
  out->set_rows_read(stats.rows_read);
  out->set_rows_written(stats.rows_written);
  out->set_bytes_written(stats.bytes_written);
  out->set_bytes_flushed(stats.bytes_flushed);
  out->set_read_errors(stats.read_errors);
  out->set_write_errors(stats.write_errors);
  out->set_damaged_rows(stats.damaged_rows);
}

void FillShardStats(const ShardState& state, int64_t uptime_ms, v1::GetStatsResponse* response) {
  const ShardCounters& counters = state.counters;
  response->set_shard(state.options.shard);
  response->set_version(HOTROW_VERSION);
  response->set_uptime_ms(uptime_ms);
  response->set_memory_budget_bytes(state.options.memory_budget_bytes);
  response->set_warm_budget_bytes(state.options.warm_budget_bytes);
  if (state.store != nullptr) {
    response->set_disk_budget_bytes(state.options.cold->disk_budget_bytes);
    FillColdStats(state.store->Stats(), response->mutable_cold());
  }
  response->set_sessions(state.sessions.size());
  response->set_sessions_expired(state.sessions.expired());
  response->set_max_sessions(state.sessions.limit());
  response->set_pull_requests(counters.pull_requests.value());
  response->set_push_requests(counters.push_requests.value());
  response->set_sub_pushes_applied(counters.sub_pushes_applied.value());
  response->set_sub_pushes_duplicate(counters.sub_pushes_duplicate.value());
  response->set_requests_failed(counters.requests_failed.value());
}

}  // namespace

// Counters of `entries`, in their order, summed over the strands.
std::vector<v1::TableStats> Shard::Impl::StatsOf(
    const std::vector<TableDirectory::Entry>& entries) {
  std::vector<v1::TableStats> stats(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    stats[i].set_table_id(entries[i]->id);
    stats[i].set_name(entries[i]->schema.name());
  }
  OnEachStrand(strands, Stopped(), [&](StrandState& strand) {
    for (size_t i = 0; i < entries.size(); ++i) {
      Table* table = strand.tables.Find(entries[i]->id);
      if (table != nullptr) AddStats(*table, &stats[i]);
    }
    return absl::OkStatus();
  }).IgnoreError();  // a strand that has stopped has nothing to add
  return stats;
}

// Of all windows.
int64_t Shard::Impl::KeptAnswerBytes() {
  int64_t bytes = 0;
  OnEachStrand(strands, Stopped(), [&](StrandState& strand) {
    bytes += strand.partitions.kept_answers().used_bytes();
    return absl::OkStatus();
  }).IgnoreError();  // a strand that has stopped has nothing to add
  return bytes;
}

absl::Status Shard::Impl::Stopped() const { return Signed(wire::ToStatus(Draining())); }

absl::StatusOr<v1::OpenSessionResponse> Shard::OpenSession(const v1::OpenSessionRequest& request) {
  Impl& impl = *impl_;
  if (impl.draining.load(std::memory_order_relaxed)) return impl.Stopped();
  MutexLock lock(impl.admin_mutex);
  std::vector<uint64_t> ended;
  const absl::Status opened =
      impl.state.sessions.Open(request, std::chrono::steady_clock::now(), &ended);
  v1::OpenSessionResponse response;
  // From here on no strand applies a push of an ended session: each looks the session up first.
  const absl::Status status = OnEachStrand(impl.strands, impl.Stopped(), [&](StrandState& strand) {
    ForgetSessions(strand, ended);
    if (opened.ok()) FillNextSequences(strand, request.session(), &response);
    return absl::OkStatus();
  });
  if (!opened.ok()) return impl.Signed(opened);
  if (!status.ok()) return status;
  response.set_session(request.session());
  response.set_server_start_id(impl.state.server_start_id);
  impl.state.options.map.ToProto(response.mutable_shard_map());
  FillOwnerEpochs(impl.state, response.mutable_shard_map());
  return response;
}

absl::Status Shard::CloseSession(uint64_t session) {
  Impl& impl = *impl_;
  MutexLock lock(impl.admin_mutex);
  const absl::Status closed = impl.state.sessions.Close(session);
  const absl::Status status = OnEachStrand(impl.strands, impl.Stopped(), [&](StrandState& strand) {
    strand.partitions.Forget(session);
    return absl::OkStatus();
  });
  return closed.ok() ? status : impl.Signed(closed);
}

absl::StatusOr<v1::CreateTableResponse> Shard::CreateTable(const v1::CreateTableRequest& request) {
  Impl& impl = *impl_;
  if (impl.draining.load(std::memory_order_relaxed)) return impl.Stopped();
  MutexLock lock(impl.admin_mutex);
  const absl::StatusOr<TableDirectory::Plan> plan = impl.state.tables.PlanCreation(request);
  if (!plan.ok()) return impl.Signed(plan.status());
  const TableEntry& entry = *plan->entry;
  v1::CreateTableResponse response;
  response.set_created(!plan->exists);
  if (plan->exists) {
    *response.mutable_table() = Describe(entry, impl.StatsOf({plan->entry})[0].highest_step());
    return response;
  }
  absl::Status made = impl.MakeTable(entry, 0);
  if (made.ok() && impl.catalog) made = impl.catalog->Save(entry, 0);
  if (!made.ok()) {
    impl.TakeTable(entry.id);
    return impl.Signed(made);
  }
  impl.state.tables.Publish(plan->entry);
  *response.mutable_table() = Describe(entry, 0);
  return response;
}

absl::Status Shard::Impl::MakeTable(const TableEntry& entry, uint64_t highest_step) {
  return OnEachStrand(strands, Stopped(), [&](StrandState& strand) {
    absl::Status status = strand.tables.Create(entry.options);
    if (status.ok()) strand.tables.Find(entry.id)->counters().highest_step = highest_step;
    return status;
  });
}

absl::StatusOr<v1::TableDescription> Shard::DescribeTable(const std::string& name) {
  Impl& impl = *impl_;
  const TableDirectory::Entry entry = impl.state.tables.Find(name);
  if (entry == nullptr) return impl.Signed(wire::ToStatus(NoSuchTable(name)));
  return Describe(*entry, impl.StatsOf({entry})[0].highest_step());
}

std::vector<v1::TableDescription> Shard::ListTables() {
  const std::vector<TableDirectory::Entry> entries = impl_->state.tables.List();
  const std::vector<v1::TableStats> stats = impl_->StatsOf(entries);
  std::vector<v1::TableDescription> tables;
  for (size_t i = 0; i < entries.size(); ++i) {
    tables.push_back(Describe(*entries[i], stats[i].highest_step()));
  }
  return tables;
}

// The parts of a table, taken out of all strands. Their memory is given back with them, on the
// thread of the caller.
std::vector<std::unique_ptr<Table>> Shard::Impl::TakeTable(uint32_t id) {
  std::vector<std::unique_ptr<Table>> parts;
  OnEachStrand(strands, Stopped(), [&](StrandState& strand) {
    if (auto part = strand.tables.Take(id)) parts.push_back(std::move(part));
    return absl::OkStatus();
  }).IgnoreError();  // what a stopped strand holds ends with it
  return parts;
}

absl::StatusOr<uint64_t> Shard::DropTable(const std::string& name) {
  Impl& impl = *impl_;
  if (impl.draining.load(std::memory_order_relaxed)) return impl.Stopped();
  std::vector<std::unique_ptr<Table>> parts;
  {
    MutexLock lock(impl.admin_mutex);
    const TableDirectory::Entry entry = impl.state.tables.Remove(name);
    if (entry == nullptr) return impl.Signed(wire::ToStatus(NoSuchTable(name)));
    parts = impl.TakeTable(entry->id);
    if (impl.catalog) {
      if (absl::Status status = impl.catalog->Drop(*entry); !status.ok()) {
        return impl.Signed(status);
      }
    }
  }
  uint64_t rows = 0;
  for (const auto& part : parts) rows += static_cast<uint64_t>(part->rows());
  return rows;
}

absl::StatusOr<v1::GetStatsResponse> Shard::GetStats(const std::string& table) {
  Impl& impl = *impl_;
  const std::vector<TableDirectory::Entry> entries = impl.state.tables.List();
  std::vector<v1::TableStats> stats = impl.StatsOf(entries);
  v1::GetStatsResponse response;
  const auto uptime = std::chrono::steady_clock::now() - impl.started;
  FillShardStats(impl.state, std::chrono::duration_cast<std::chrono::milliseconds>(uptime).count(),
                 &response);
  if (table.empty()) FillHistograms(impl.strands, &response);
  response.set_kept_answer_bytes(impl.KeptAnswerBytes());
  response.set_state(impl.draining.load(std::memory_order_relaxed) ? "draining" : "serving");
  uint64_t allocated = 0;
  uint64_t warm = 0;
  for (v1::TableStats& one : stats) {
    allocated += one.allocated_bytes();
    for (const v1::TierStats& tier : one.tiers())
      warm += tier.name() == "warm" ? tier.used_bytes() : 0;
    if (table.empty() || table == one.name()) *response.add_tables() = std::move(one);
  }
  response.set_memory_used_bytes(allocated);
  response.set_warm_used_bytes(warm);
  if (!table.empty() && response.tables_size() == 0) {
    return impl.Signed(wire::ToStatus(NoSuchTable(table)));
  }
  return response;
}

}  // namespace hotrow
