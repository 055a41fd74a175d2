// Everything behind a Client: connections, session, known tables, and the way of a pull and a push
// from checked input to their operations.
//
// Thread safety: every method, from any thread. Ownership: shared by the client and its tables; a
// process that was forked leaks it, because its threads are not there to be stopped. Bounds: a pull
// or a push waits as long as its Patience allows, which absences of shards extend where no timeout
// was given, up to recovery_timeout; Close for pending pushes as long as a call, 1 s more for the
// shards to end its session, and until its threads are quiet, whose calls are cancelled first.
// Errors: nothing works after Close or across a fork. Unavailable and DeadlineExceeded of a push
// mean that it is pending, Overloaded that nothing was sent.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "client/src/alarm.h"
#include "client/src/ask_shards.h"
#include "client/src/batch_workspace.h"
#include "client/src/byte_budget.h"
#include "client/src/future_state.h"
#include "client/src/session.h"
#include "client/src/shard_channel.h"
#include "client/src/shard_map_cache.h"
#include "client/src/table_state.h"
#include "hotrow/client.h"
#include "hotrow/pulled_batch.h"

namespace hotrow::client {
class PushOperation;
}

namespace hotrow {

class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  struct PullPart {
    std::shared_ptr<TableState> table;
    std::span<const Key> keys;
    std::optional<Key> skip;
  };
  struct PushPart {
    std::shared_ptr<TableState> table;
    std::span<const Key> keys;
    std::span<const float> rows;
    PushOptions options;
  };
  using Batches = std::vector<std::shared_ptr<PulledBatch>>;
  using PullDone = std::function<void(absl::StatusOr<Batches>)>;
  using PushState = std::shared_ptr<Future<PushCounts>::State>;

  static absl::StatusOr<std::shared_ptr<ClientCore>> Connect(ConnectOptions options);
  ~ClientCore();

  // ForkedProcess in a child, Closed after Close().
  absl::Status CheckUsable() const;
  const ConnectOptions& options() const { return options_; }
  const wire::ShardMap& map() const { return *map_; }
  client::Channels channels() const { return channels_; }
  std::chrono::milliseconds timeout() const { return options_.timeout.value_or(options_.patience); }
  client::TimePoint DeadlineOf(std::optional<std::chrono::milliseconds> timeout) const {
    return client::DeadlineIn(timeout.value_or(this->timeout()));
  }
  // Of a pull or a push.
  client::Patience PatienceOf(std::optional<std::chrono::milliseconds> timeout) const {
    const bool given = timeout.has_value() || options_.timeout.has_value();
    return {.deadline = DeadlineOf(timeout),
            .after_outage = given ? std::chrono::milliseconds(0) : options_.patience};
  }

  // The one state of a table of this client.
  std::shared_ptr<TableState> KnowTable(const TableInfo& info);
  void ForgetTable(std::string_view name);

  // `done` runs exactly once, on any thread, also for errors.
  void StartPull(std::span<const PullPart> parts, const PullOptions& options, PullDone done);
  // The future is filled once all is acknowledged, or has the error that kept the push from being
  // numbered.
  Future<PushCounts> StartPush(std::span<const PushPart> parts, wire::Operation operation);
  // Starts a push and waits: DeadlineExceeded leaves it pending.
  absl::StatusOr<PushCounts> PushAndWait(std::span<const PushPart> parts,
                                         wire::Operation operation);

  absl::Status Flush(std::optional<std::chrono::milliseconds> timeout);
  absl::Status Close();

 private:
  ClientCore(ConnectOptions options, client::Cluster cluster);
  bool forked() const;
  absl::Status WaitForShards(client::TimePoint deadline);
  absl::StatusOr<std::shared_ptr<client::PushOperation>> TryPush(std::span<const PushPart> parts,
                                                                 wire::Operation operation,
                                                                 const PushState& state);
  absl::Status CheckPush(std::span<const PushPart> parts, wire::Operation operation) const;
  // What keeps the pushes that wait for `shards` from being acknowledged: `outage`, else the
  // troubles of these shards as DeadlineExceeded.
  wire::ErrorInfo WhyPending(const absl::Status& outage, const std::vector<uint32_t>& shards) const;
  absl::Status StillPending(const absl::Status& outage, const client::PushOperation& push) const;
  // What ClientCore waits for in slices: `wait` returns true once it is over, or false at `until`;
  // `shards` are those that it waits for.
  struct Wait {
    std::function<bool(client::TimePoint until)> wait;
    std::function<std::vector<uint32_t>()> shards;
  };
  // Waits until it is over, out of patience or interrupted (OK in each case), or until one of the
  // shards has been away for recovery_timeout: Unavailable then.
  absl::Status WaitThroughOutages(const Wait& wait, client::Patience patience) const;
  absl::Status OutageOf(const client::PushOperation& push) const;
  // Overloaded when there was no room in time, or it was to come from shards that are away for too
  // long.
  absl::Status TakeBytes(int64_t bytes, client::Patience patience);
  struct PendingPushes {
    int64_t count = 0;
    wire::ErrorInfo why;  // they are pending
  };
  // Waits for the pushes that have begun before the call.
  PendingPushes WaitForPushes(client::Patience patience);
  absl::Status FlushAtClose();
  void CloseSessions();

  const ConnectOptions options_;
  const pid_t pid_;
  const std::shared_ptr<const wire::ShardMap> map_;
  const std::shared_ptr<client::WorkspacePool> workspaces_;
  client::ByteBudget budget_;
  client::Session session_;
  const std::shared_ptr<client::UnclaimedErrors> unclaimed_ =
      std::make_shared<client::UnclaimedErrors>();
  client::Alarm alarm_;
  std::vector<std::unique_ptr<client::ShardChannel>> channels_;  // (shards)

  std::atomic<bool> closed_ = false;  // set before anything is torn down
  Mutex close_mutex_;
  bool torn_down_ HOTROW_GUARDED_BY(close_mutex_) = false;
  Mutex tables_mutex_;
  std::map<uint32_t, std::shared_ptr<TableState>> tables_ HOTROW_GUARDED_BY(tables_mutex_);
};

}  // namespace hotrow
