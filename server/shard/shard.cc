#include "server/shard/shard.h"

#include <random>
#include <utility>

#include "hotrow/v1/admin_service.pb.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/status_codec.h"
#include "server/shard/request_errors.h"
#include "server/shard/shard_impl.h"

namespace hotrow {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t RandomStartId() {
  std::random_device device;
  return std::uniform_int_distribution<uint64_t>(1)(device);
}

// What a waiting request holds, its decoded header included.
int64_t BytesOf(const wire::PullRequest& request) {
  return static_cast<int64_t>(request.keys.size() +
                              request.tables.size() * sizeof(wire::TableKeys));
}

int64_t BytesOf(const wire::PushRequest& request) {
  size_t bytes = request.payload.size();
  for (const wire::SubPush& sub_push : request.sub_pushes) {
    bytes += sizeof(sub_push) + sub_push.tables.size() * sizeof(wire::SubPushTable);
  }
  return static_cast<int64_t>(bytes);
}

wire::ErrorInfo NotAdmitted(Strand::Admission admission, ShardCounters& counters) {
  if (admission == Strand::Admission::kClosed) return Draining();
  counters.overload_refusals.Add();
  return QueueFull();
}

// A scan in the hands of the rpc layer.
class ShardScanCursor : public ScanCursor {
 public:
  ShardScanCursor(std::shared_ptr<TableScan> scan, std::shared_ptr<Strand> strand,
                  ShardState* state)
      : scan_(std::move(scan)),
        strand_(std::move(strand)),
        state_(state),
        shard_(static_cast<int32_t>(state->options.shard)) {}

  void Next(absl::AnyInvocable<void(absl::StatusOr<ScanReply>)> done) override {
    // Once the strand refuses, state_ may be gone: it is used in tasks of the strand only.
    if (const auto admission = strand_->Reserve(0); admission != Strand::Admission::kAdmitted) {
      wire::ErrorInfo error = admission == Strand::Admission::kClosed ? Draining() : QueueFull();
      error.shard = shard_;
      return done(wire::ToStatus(error));
    }
    strand_->Post([scan = scan_, state = state_,
                   done = std::move(done)]() mutable { done(NextOf(*scan, *state)); },
                  0);
  }

 private:
  static absl::StatusOr<ScanReply> NextOf(TableScan& scan, ShardState& state) {
    Table* table = state.tables.Find(scan.table_id());
    wire::ErrorInfo error;
    if (table == nullptr) error = NoSuchTable(scan.table_id());
    if (scan.expired()) error = ScanExpired();
    if (!error.ok()) {
      error.shard = static_cast<int32_t>(state.options.shard);
      return wire::ToStatus(error);
    }
    scan.last_used = Clock::now();
    return scan.Next(*table);
  }

  const std::shared_ptr<TableScan> scan_;  // shared with the task that reads the next batch
  const std::shared_ptr<Strand> strand_;
  ShardState* const state_;
  const int32_t shard_;
};

}  // namespace

wire::ErrorInfo Shard::Impl::Signed(wire::ErrorInfo error) const {
  if (!error.ok()) error.shard = static_cast<int32_t>(state.options.shard);
  return error;
}

absl::Status Shard::Impl::Signed(const absl::Status& status) const {
  return status.ok() ? status : wire::ToStatus(Signed(wire::FromStatus(status)));
}

Shard::Shard(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Shard::~Shard() = default;

absl::StatusOr<std::unique_ptr<Shard>> Shard::Create(ShardOptions options) {
  const char* wrong = nullptr;
  if (options.shard >= options.map.shards().size()) wrong = "shard is not in the shard map";
  if (options.memory_budget_bytes <= 0) wrong = "memory_budget_bytes must be positive";
  if (options.max_queued_requests <= 0) wrong = "max_queued_requests must be positive";
  if (options.max_queued_bytes <= 0) wrong = "max_queued_bytes must be positive";
  if (options.session_idle.count() <= 0) wrong = "session_idle must be positive";
  if (options.max_sessions <= 0) wrong = "max_sessions must be positive";
  if (wrong != nullptr) return wire::MakeError(wire::ErrorKind::kInvalidArgument, wrong);
  return std::unique_ptr<Shard>(new Shard(std::make_unique<Impl>(options, RandomStartId())));
}

void Shard::Pull(wire::PullRequest request, Deadline deadline,
                 absl::AnyInvocable<void(PullReply)> done) {
  Impl& impl = *impl_;
  impl.state.counters.pull_requests.Add();
  const int64_t bytes = BytesOf(request);
  const auto refuse = [&impl](uint64_t request_id, wire::ErrorInfo error) {
    impl.state.counters.requests_failed.Add();
    PullReply reply;
    reply.message.request_id = request_id;
    reply.message.error = impl.Signed(std::move(error));
    return reply;
  };
  const auto admission = impl.strand->Reserve(bytes);
  if (admission != Strand::Admission::kAdmitted) {
    return done(refuse(request.request_id, NotAdmitted(admission, impl.state.counters)));
  }
  impl.strand->Post(
      [&impl, refuse, request = std::move(request), deadline, done = std::move(done)]() mutable {
        if (Clock::now() >= deadline) {
          impl.state.counters.deadlines_passed.Add();
          return done(refuse(request.request_id, DeadlinePassed()));
        }
        PullReply reply = impl.pulls.Run(request);
        if (!reply.message.error.ok()) reply = refuse(request.request_id, reply.message.error);
        done(std::move(reply));
      },
      bytes);
}

void Shard::Push(wire::PushRequest request, Deadline deadline,
                 absl::AnyInvocable<void(wire::PushResponse)> done) {
  Impl& impl = *impl_;
  impl.state.counters.push_requests.Add();
  const int64_t bytes = BytesOf(request);
  const auto refuse = [&impl](uint64_t request_id, wire::ErrorInfo error) {
    impl.state.counters.requests_failed.Add();
    wire::PushResponse response;
    response.request_id = request_id;
    response.error = impl.Signed(std::move(error));
    return response;
  };
  const auto admission = impl.strand->Reserve(bytes);
  if (admission != Strand::Admission::kAdmitted) {
    return done(refuse(request.request_id, NotAdmitted(admission, impl.state.counters)));
  }
  impl.strand->Post(
      [&impl, refuse, request = std::move(request), deadline, done = std::move(done)]() mutable {
        const auto now = Clock::now();
        if (now >= deadline) {
          impl.state.counters.deadlines_passed.Add();
          return done(refuse(request.request_id, DeadlinePassed()));
        }
        wire::PushResponse response = impl.pushes.Run(request, now);
        if (!response.error.ok()) response = refuse(request.request_id, response.error);
        for (auto& result : response.results) result.error = impl.Signed(std::move(result.error));
        done(std::move(response));
      },
      bytes);
}

void Shard::Scan(uint32_t table_id, uint32_t batch_rows, bool with_state,
                 absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<ScanCursor>>)> done) {
  Impl& impl = *impl_;
  const auto admission = impl.strand->Reserve(0);
  if (admission != Strand::Admission::kAdmitted) {
    return done(wire::ToStatus(impl.Signed(NotAdmitted(admission, impl.state.counters))));
  }
  const auto start = [&impl](ScanRange range,
                             uint32_t wanted) -> absl::StatusOr<std::unique_ptr<ScanCursor>> {
    ShardState& state = impl.state;
    Table* table = state.tables.Find(range.table_id);
    if (table == nullptr) return impl.Signed(wire::ToStatus(NoSuchTable(range.table_id)));
    range.batch_rows = ScanBatchRows(wanted, table->layout(), range.with_state);
    auto scan = state.scans.Start(range, *table, state.budget, Clock::now());
    if (!scan.ok()) return impl.Signed(scan.status());
    return std::make_unique<ShardScanCursor>(*std::move(scan), impl.strand, &state);
  };
  ScanRange range;
  range.table_id = table_id;
  range.with_state = with_state;
  impl.strand->Post([start, range, batch_rows,
                     done = std::move(done)]() mutable { done(start(range, batch_rows)); },
                    0);
}

bool Shard::Drain(Deadline deadline) {
  impl_->draining.store(true, std::memory_order_relaxed);
  impl_->strand->Close();
  return impl_->strand->WaitUntilIdle(deadline);
}

const ShardCounters& Shard::counters() const { return impl_->state.counters; }
int64_t Shard::queued_requests() const { return impl_->strand->queued_requests(); }
const wire::ShardMap& Shard::map() const { return impl_->state.options.map; }
uint32_t Shard::shard() const { return impl_->state.options.shard; }
uint64_t Shard::server_start_id() const { return impl_->state.server_start_id; }

}  // namespace hotrow
