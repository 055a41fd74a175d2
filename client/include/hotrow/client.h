// The Hotrow client: tables of embedding rows that live on shard servers.
//
//   auto client = hotrow::Client::Connect({.addresses = {"127.0.0.1:7070"}});
//   auto table = (*client)->CreateTable(
//       {.name = "user", .dim = 64, .optimizer = hotrow::Adagrad{.lr = 0.05F}});
//   table->Pull(keys, rows);        // rows: keys.size() x dim float32
//   table->Push(keys, gradients);   // applied exactly once; returns when acknowledged
//
// Thread safety: every method of Client and Table, from any thread. Not across fork(): a child gets
// a typed error. Ownership: a Table is a small handle that keeps its client alive. Results own the
// received buffers they point into. Errors: absl::Status, of which DescribeError (hotrow/errors.h)
// gives kind, table, shard and hint. Bad input is refused before any call. Bounds: at most
// options.max_in_flight_bytes of requests and replies; a call that would exceed it waits, and ends
// as Overloaded, with nothing sent, when it has waited as long as it may.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotrow/table_schema.h"

namespace hotrow {

using Key = uint64_t;

// What a client is for. kInspect is for tools: it opens no session, so it cannot push, and it
// connects although some shards are down.
enum class Access : uint8_t { kTrain, kInspect };

// Where to connect, as whom, and within which bounds.
struct ConnectOptions {
  std::vector<std::string> addresses = {};  // HOST:PORT or unix:PATH, any one shard is enough
  // address in the shard map -> address to dial
  std::map<std::string, std::string> address_map = {};
  // Of each call that has none of its own, and of Connect: counts always. Without one a call has
  // `patience` while the shards that it needs are there, and waits out their absence up to
  // recovery_timeout; Connect has 30 s.
  std::optional<std::chrono::milliseconds> timeout = {};
  std::chrono::milliseconds patience{30000};
  std::string job = {};     // at most 128 bytes, may be empty
  uint32_t rank = 0;        // of this worker, below world_size
  uint32_t world_size = 1;  // workers of the job
  Access access = Access::kTrain;
  // A connection is asked for a sign of life after this long without one, and made anew when none
  // comes within the same time; >= 1 s.
  std::chrono::milliseconds keepalive{10000};
  // How long a shard may be without a connection, or answer that it takes nothing, before the calls
  // (all but Status) that need it end as Unavailable, those that come later at once; > 0. A
  // timeout that was given ends them earlier. Pushes that were numbered stay pending, and the
  // client goes on trying to connect.
  std::chrono::milliseconds recovery_timeout{120000};
  int64_t max_in_flight_bytes = int64_t{256} << 20;
};

struct PullOptions {
  bool read_only = false;  // evaluation: changes not even scores
  std::optional<std::chrono::milliseconds> timeout = {};
};

struct PushOptions {
  std::optional<float> learning_rate = {};  // default: the table's optimizer
  // default: this client's pushes to the table, counted on from the servers' highest
  std::optional<uint64_t> step = {};
  std::optional<std::chrono::milliseconds> timeout = {};
};

// What a push did to rows that were stored before, and to others.
struct PushCounts {
  int64_t rows_updated = 0;
  int64_t rows_created = 0;
};

// A table as the shards know it.
struct TableInfo {
  uint32_t table_id = 0;
  TableSchema schema;
  int64_t row_bytes = 0;
  uint64_t highest_step = 0;
};

// Counters of one table.
// What one tier of the shards holds of a table; fields as in hotrow/v1/table.proto.
struct TierStatistics {
  std::string name;  // "hot", "warm" or "cold"
  uint64_t rows = 0;
  uint64_t used_bytes = 0;
  uint64_t rows_pulled = 0;
};

struct TableStatistics {
  std::string name;
  uint64_t rows = 0;
  uint64_t used_bytes = 0;
  uint64_t allocated_bytes = 0;
  uint64_t rows_pulled = 0;
  uint64_t rows_pulled_initial = 0;
  uint64_t rows_pushed = 0;
  uint64_t rows_created = 0;
  uint64_t rows_refused = 0;
  uint64_t gradients_refused = 0;
  uint64_t highest_step = 0;
  uint64_t promotions = 0;
  uint64_t evictions = 0;
  uint64_t eviction_failures = 0;
  uint64_t tier_read_failures = 0;
  std::vector<TierStatistics> tiers;  // from the highest to the lowest
};

// Answer of one shard to a status question, or why there is none.
struct ShardStatus {
  uint32_t shard = 0;
  std::string address;
  absl::Status status;
  std::string version;
  std::string state;
  uint64_t uptime_ms = 0;
  uint64_t memory_used_bytes = 0;
  uint64_t memory_budget_bytes = 0;
  uint64_t sessions = 0;
  uint64_t pull_requests = 0;
  uint64_t push_requests = 0;
  uint64_t sub_pushes_applied = 0;
  uint64_t sub_pushes_duplicate = 0;
  uint64_t requests_failed = 0;
  std::vector<TableStatistics> tables;
};

class ClientCore;   // client/src/client_core.h
class TableState;   // client/src/table_state.h
class PulledBatch;  // hotrow/pulled_batch.h: unique rows in the received buffers, for pooling
                    // without a copy

// A result that arrives later. Movable; Wait once.
template <typename T>
class Future {
 public:
  // The result, DeadlineExceeded if it is not there in time (it may still arrive: wait again), or
  // outage(), then too.
  absl::StatusOr<T> Wait(std::chrono::milliseconds timeout);
  // As Wait, but nothing if it is not there in time: a late answer of a call that itself exceeded
  // its deadline is told apart from a result that is still to come.
  std::optional<absl::StatusOr<T>> TryWait(std::chrono::milliseconds timeout);
  bool ready() const;
  // Unavailable while a shard that a push waits for has been away for recovery_timeout.
  absl::Status outage() const;

  struct State;
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

class Table {
 public:
  const std::string& name() const;
  int64_t dim() const;
  TableInfo info() const;  // as of creation or opening

  // rows (keys.size(), dim) is written only on success. Repeated keys are asked for once.
  absl::Status Pull(std::span<const Key> keys, std::span<float> rows,
                    const PullOptions& options = {}) const;
  // One call, keys deduplicated except those equal to `skip`, rows left in the received buffers.
  absl::StatusOr<std::shared_ptr<PulledBatch>> PullBatch(std::span<const Key> keys,
                                                         std::optional<Key> skip,
                                                         const PullOptions& options = {}) const;
  Future<std::shared_ptr<PulledBatch>> PullBatchAsync(std::span<const Key> keys,
                                                      std::optional<Key> skip,
                                                      const PullOptions& options = {}) const;

  // gradients (keys.size(), dim); repeated keys are summed by the order rule. CapacityFull lists
  // refused keys; all others were applied. After DeadlineExceeded and Unavailable it is still
  // pending, neither lost nor sent twice: do not push it again, Flush waits for it. After
  // Overloaded nothing was sent. SessionLost: this client pushes nothing more, and of what it had
  // pending it is not known whether it was applied.
  absl::StatusOr<PushCounts> Push(std::span<const Key> keys, std::span<const float> gradients,
                                  const PushOptions& options = {}) const;
  Future<PushCounts> PushAsync(std::span<const Key> keys, std::span<const float> gradients,
                               const PushOptions& options = {}) const;

  // Writes weights; the optimizer state of these rows starts afresh. Of a repeated key the last row
  // wins.
  absl::StatusOr<PushCounts> Upsert(std::span<const Key> keys, std::span<const float> rows) const;
  absl::StatusOr<int64_t> Remove(std::span<const Key> keys) const;  // number of rows removed
  absl::StatusOr<int64_t> Size() const;

  // Calls `visit` with batches of stored rows until all shards are done or it returns false. rows
  // (n, dim); state (n, state columns) or empty. Every row that is stored at the start and not
  // removed meanwhile comes once.
  using Visitor =
      std::function<bool(std::span<const Key>, std::span<const float>, std::span<const float>)>;
  absl::Status Scan(int64_t batch_rows, bool with_state, const Visitor& visit) const;

  absl::StatusOr<TableStatistics> Stats() const;  // summed over shards

 private:
  friend class Client;
  Table(std::shared_ptr<ClientCore> core, std::shared_ptr<TableState> state);
  std::shared_ptr<ClientCore> core_;
  std::shared_ptr<TableState> state_;  // shared by all handles of this client to the table
};

// A push of several tables in one message per shard: what a training step sends.
struct TablePush {
  const Table* table = nullptr;
  std::span<const Key> keys;
  std::span<const float> gradients;  // (keys.size(), dim)
  PushOptions options = {};
};

// A pull of several tables in one message per shard.
struct TablePull {
  const Table* table = nullptr;
  std::span<const Key> keys;
  std::optional<Key> skip = {};  // padding: not pulled
};

class Client {
 public:
  static absl::StatusOr<std::shared_ptr<Client>> Connect(ConnectOptions options);
  ~Client();  // closes, unless tables are still held: the last of them does

  // exist_ok: an equal table is opened, and a creation that was interrupted completed. What is
  // refused for its content changes nothing on any shard; where one has no room for the table
  // (CapacityFull) the others may have it, empty, until it is dropped. DataLoss where a shard has
  // lost its part while others hold rows: drop the table, create it and restore all of its rows.
  absl::StatusOr<Table> CreateTable(const TableSchema& schema, bool exist_ok = false);
  // Makes nothing. NotFound without a shard when none has the table, naming the first that lacks it
  // when nothing was stored yet; DataLoss, naming it too, when others hold rows of it.
  absl::StatusOr<Table> OpenTable(std::string_view name);
  absl::StatusOr<std::vector<TableInfo>> ListTables();
  // Gives the rows that were stored; a table that some shards have lost is dropped on the others,
  // NotFound when none has it. PermissionDenied, and nothing dropped anywhere, where a shard
  // has an admin listener: `hotrowctl drop` reaches it.
  absl::StatusOr<uint64_t> DropTable(std::string_view name);

  // One batch per entry, in order.
  absl::StatusOr<std::vector<std::shared_ptr<PulledBatch>>> PullTables(
      std::span<const TablePull> pulls, const PullOptions& options = {});
  Future<std::vector<std::shared_ptr<PulledBatch>>> PullTablesAsync(
      std::span<const TablePull> pulls, const PullOptions& options = {});

  // A table at most once. The longest timeout of the entries counts.
  absl::StatusOr<PushCounts> PushTables(std::span<const TablePush> pushes);
  Future<PushCounts> PushTablesAsync(std::span<const TablePush> pushes);

  // Waits until every push that was made before is acknowledged, as long as any call when no
  // timeout is given: DeadlineExceeded then, and Unavailable when a shard is away for too long;
  // they stay pending, and the error says what for. Reports, once, the first push that has failed
  // and whose waiter, if it has one, was not told yet.
  absl::Status Flush(std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  // Flushes, ends the session and the connections. SessionLost when pushes were still pending after
  // options.timeout, or patience: they are given up, and whether they were applied is unknown.
  // Later calls give kClosed. Idempotent.
  absl::Status Close();

  std::vector<ShardStatus> Status();  // one per shard, reachable or not
  std::vector<std::string> shards() const;

 private:
  explicit Client(std::shared_ptr<ClientCore> core);
  std::shared_ptr<ClientCore> core_;
};

// Pinned hashes: see proto/wire/hashes.h.
Key HashString(std::string_view feature, std::string_view value);
uint64_t MixKeyOfTable(Key key, std::string_view table);  // MixKey(key ^ XXH64(table, 0))

}  // namespace hotrow
