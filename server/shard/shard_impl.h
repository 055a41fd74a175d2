// The inside of Shard, shared by shard.cc (data) and shard_admin.cc (control).
//
// Thread safety: constant and atomic members, and what is synchronised by itself, from any thread;
// the state of a strand only in its tasks.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/shard/pull_work.h"
#include "server/shard/push_executor.h"
#include "server/shard/push_work.h"
#include "server/shard/request_gate.h"
#include "server/shard/shard.h"
#include "server/shard/shard_state.h"
#include "server/shard/strand.h"
#include "server/shard/table_catalog.h"
#include "server/shard/work_pool.h"

namespace hotrow {

// A strand with what it owns.
struct StrandUnit {
  StrandUnit(ShardState& shard, int index) : state(shard, index), pushes(state) {}

  StrandState state;
  PushExecutor pushes;
  Strand strand;  // last: its thread uses the others
};

// Where the parts of a request run.
struct PartPlaces {
  Strand::Where others;
  Strand::Where last;
};

struct Shard::Impl {
  // `store` may be null: no cold tier.
  Impl(const ShardOptions& options, uint64_t start_id, std::shared_ptr<ColdStore> store);
  ~Impl();

  // Makes the tables that the cold store has from an earlier process life.
  absl::Status RestoreTables();
  absl::Status MakeTable(const TableEntry& entry, uint64_t highest_step);
  absl::Status SaveStrands();

  // Errors leave the shard with its number on them.
  wire::ErrorInfo Signed(wire::ErrorInfo error) const;
  absl::Status Signed(const absl::Status& status) const;
  PartPlaces PlacesFor(int64_t bytes) const;
  void CountFailure(const wire::ErrorInfo& error);
  // What calls get once the strands have stopped.
  absl::Status Stopped() const;
  std::vector<v1::TableStats> StatsOf(const std::vector<TableDirectory::Entry>& entries);
  int64_t KeptAnswerBytes();
  std::vector<std::unique_ptr<Table>> TakeTable(uint32_t id);
  // Why a request was not let in.
  wire::ErrorInfo NotAdmitted(RequestGate::Admission admission);

  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::atomic<bool> draining{false};  // set before the gate closes, so that refusals name it
  ShardState state;
  WorkPool<PullWork> pull_works;
  WorkPool<PushWork> push_works;
  // Shared: scans in other hands may outlive the shard, and find it closed.
  const std::shared_ptr<RequestGate> gate;
  std::vector<std::unique_ptr<StrandUnit>> strands;  // constant after construction

  std::optional<TableCatalog> catalog;  // with a cold tier; under admin_mutex

  Mutex admin_mutex;  // held while a session or a table is opened, made or ended on all strands
};

}  // namespace hotrow
