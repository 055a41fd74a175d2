// Shard: everything that one server process owns: tables, sessions, partitions and the strands that
// write them. The rpc layer hands requests in and gets replies through callbacks; it knows nothing
// of rows.
//
// Thread safety: every method, from any thread. Callbacks run on a strand, or on the caller before
// the method returns when the request is refused or short, and must not block. Ownership: a
// submitted request is owned by the shard until its callback has run. Each callback runs exactly
// once. Bounds: at most `max_queued_requests` requests and `max_queued_bytes` payload bytes wait;
// more are refused with kOverloaded and a retry hint. Work whose deadline has passed when it is
// taken up is answered kDeadlineExceeded. Errors: typed, in the response. A pull is refused whole;
// of a push each sub-push is, before anything of it changes: those before it in the message stay.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/shard_map.h"
#include "server/shard/request_times.h"
#include "server/shard/shard_counters.h"
#include "server/tiers/tier_options.h"

namespace hotrow::v1 {
class CreateTableRequest;
class CreateTableResponse;
class GetStatsResponse;
class OpenSessionRequest;
class OpenSessionResponse;
class ShardMap;
class TableDescription;
}  // namespace hotrow::v1

namespace hotrow {

using Deadline = std::chrono::steady_clock::time_point;

inline constexpr int64_t kShortRequestBytes = 64 << 10;

struct ShardOptions {
  uint32_t shard = 0;
  wire::ShardMap map;
  int64_t memory_budget_bytes = 0;  // of the hot tier: all its row stores, index included
  int64_t warm_budget_bytes = 0;    // likewise of the warm tier; 0: there is none
  // The cold tier; without it nothing outlives the process.
  std::optional<ColdOptions> cold;
  WriteBehindOptions write_behind;  // a strand
  int64_t max_queued_requests = 1024;
  int64_t max_queued_bytes = int64_t{256} << 20;
  int64_t max_sessions = 4096;
  // Long: a worker may evaluate for hours between two pushes, and then lose its session.
  std::chrono::milliseconds session_idle{std::chrono::hours(24)};
  int strands = 1;  // threads that write rows; at most one an owned partition is used
  // A request of at most so many bytes, reply included, runs on the thread that brings it, strand
  // after strand while each is idle: its work is shorter than the hand-over to other threads and
  // back.
  int64_t short_request_bytes = kShortRequestBytes;
  // Of a request of at most so many bytes the last strand's part does, beside the other strands.
  int64_t last_part_here_bytes = kShortRequestBytes;
  int slots_per_set = 32;
  int64_t max_slots = 0;  // of a table in a tier of a strand; 0: what the budget allows. For tests
};

// A reply ready to be encoded: the message without payload, and the payload.
struct PullReply {
  wire::PullResponse message;
  std::vector<grpc::Slice> payload;
  RequestTimes times;  // empty when no strand was asked
};

struct PushReply {
  wire::PushResponse message;
  RequestTimes times;  // empty when no strand was asked
};

// One batch of a scan.
struct ScanReply {
  wire::ScanResponse message;
  std::vector<grpc::Slice> payload;
};

// A running scan of one table. Next() is asynchronous; one call at a time.
class ScanCursor {
 public:
  virtual ~ScanCursor() = default;
  // `done` gets the next batch; row_count 0 means the end.
  virtual void Next(absl::AnyInvocable<void(absl::StatusOr<ScanReply>)> done) = 0;
};

class Shard {
 public:
  static absl::StatusOr<std::unique_ptr<Shard>> Create(ShardOptions options);
  ~Shard();  // drains

  void Pull(wire::PullRequest request, Deadline deadline, absl::AnyInvocable<void(PullReply)> done);
  void Push(wire::PushRequest request, Deadline deadline, absl::AnyInvocable<void(PushReply)> done);
  // At most `batch_rows` rows a batch (0: as many as fit 1 MiB), fewer where a message has no room.
  void Scan(uint32_t table_id, uint32_t batch_rows, bool with_state,
            absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<ScanCursor>>)> done);

  // These wait for each strand (not for the requests that queue for it): call them from threads
  // that may block for milliseconds, never from a callback.
  absl::StatusOr<v1::OpenSessionResponse> OpenSession(const v1::OpenSessionRequest& request);
  absl::Status CloseSession(uint64_t session);
  absl::StatusOr<v1::CreateTableResponse> CreateTable(const v1::CreateTableRequest& request);
  absl::StatusOr<v1::TableDescription> DescribeTable(const std::string& name);
  std::vector<v1::TableDescription> ListTables();
  absl::StatusOr<uint64_t> DropTable(const std::string& name);              // rows that were stored
  absl::StatusOr<v1::GetStatsResponse> GetStats(const std::string& table);  // empty: all

  // Refuses new work with kUnavailable from now on, and returns when accepted work is answered or
  // at the deadline (false).
  bool Drain(Deadline deadline);
  // After Drain: writes every row to the cold tier, and closes it. Without one this does nothing.
  // Once it has returned the shard serves nothing any more. On error, rows changed since they last
  // went down are lost with the process.
  absl::Status Save();
  // Why rows may be older than the last push that was answered: the process before this one did not
  // end with Save(). Empty otherwise.
  std::string recovery_note() const;

  const ShardCounters& counters() const;

  const wire::ShardMap& map() const;
  uint32_t shard() const;
  uint64_t server_start_id() const;  // random per process life, also its owner epoch

 private:
  struct Impl;
  explicit Shard(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotrow
