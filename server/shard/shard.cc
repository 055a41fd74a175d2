#include "server/shard/shard.h"

#include <random>
#include <utility>

#include "hotrow/v1/admin_service.pb.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/status_codec.h"
#include "server/shard/push_fence.h"
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

// What a scan needs of its shard: used in tasks of admitted requests only, while the shard lives.
struct ScanPlace {
  std::shared_ptr<RequestGate> gate;
  std::vector<std::unique_ptr<StrandUnit>>* strands = nullptr;
  ScanSet* scans = nullptr;
  uint32_t shard = 0;

  absl::Status Signed(wire::ErrorInfo error) const {
    error.shard = static_cast<int32_t>(shard);
    return wire::ToStatus(error);
  }
};

// A scan in the hands of the rpc layer.
class ShardScanCursor : public ScanCursor {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<ScanReply>)>;

  ShardScanCursor(std::shared_ptr<TableScan> scan, ScanPlace place)
      : scan_(std::move(scan)), place_(std::move(place)) {}

  void Next(Done done) override {
    // Once the gate refuses, the shard may be gone.
    const auto admission = place_.gate->Reserve(0);
    if (admission != RequestGate::Admission::kAdmitted) {
      const bool closed = admission == RequestGate::Admission::kClosed;
      return done(place_.Signed(closed ? Draining() : QueueFull()));
    }
    ReadOn(scan_, place_, std::move(done));
  }

 private:
  // Goes from strand to strand until one has rows.
  static void ReadOn(std::shared_ptr<TableScan> scan, const ScanPlace& place, Done done) {
    const auto index = std::min<size_t>(scan->strand(), place.strands->size() - 1);
    StrandUnit& unit = *(*place.strands)[index];
    unit.strand.Post(
        [scan = std::move(scan), place, &unit, done = std::move(done)]() mutable {
          absl::StatusOr<ScanReply> reply = NextOf(*scan, place, unit);
          if (reply.ok() && reply->message.row_count == 0 && !scan->AtEnd()) {
            return ReadOn(std::move(scan), place, std::move(done));
          }
          done(std::move(reply));
          done = nullptr;
          place.gate->Release(0);
        },
        Strand::Where::kOwnThread);
  }

  static absl::StatusOr<ScanReply> NextOf(TableScan& scan, const ScanPlace& place,
                                          StrandUnit& unit) {
    Table* table = unit.state.tables.Find(scan.table_id());
    if (table == nullptr) return place.Signed(NoSuchTable(scan.table_id()));
    absl::StatusOr<ScanReply> reply = scan.Next(*table, Clock::now());
    if (!reply.ok()) return place.Signed(wire::FromStatus(reply.status()));
    return reply;
  }

  const std::shared_ptr<TableScan> scan_;  // shared with the task that reads the next batch
  const ScanPlace place_;
};

using ScanStarted = absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<ScanCursor>>)>;

// Collects the keys of one strand after the other, from strand `index` on.
void CollectKeys(std::shared_ptr<TableScan> scan, ScanPlace place, size_t index, ScanStarted done) {
  StrandUnit& unit = *(*place.strands)[index];
  unit.strand.Post(
      [scan = std::move(scan), place = std::move(place), index, &unit,
       done = std::move(done)]() mutable {
        Table* table = unit.state.tables.Find(scan->table_id());
        absl::Status status = table == nullptr ? wire::ToStatus(NoSuchTable(scan->table_id()))
                                               : place.scans->AddKeys(*scan, *table, Clock::now());
        if (status.ok() && index + 1 < place.strands->size()) {
          return CollectKeys(std::move(scan), std::move(place), index + 1, std::move(done));
        }
        const std::shared_ptr<RequestGate> gate = place.gate;
        if (status.ok()) {
          done(std::make_unique<ShardScanCursor>(std::move(scan), std::move(place)));
        } else {
          done(place.Signed(wire::FromStatus(status)));
        }
        done = nullptr;
        gate->Release(0);
      },
      Strand::Where::kOwnThread);
}

// Starts a request on every strand that it concerns.
template <typename Work, typename Task>
void PostParts(std::vector<std::unique_ptr<StrandUnit>>& strands, const Work& work,
               const PartPlaces& places, Task task) {
  int left = work.strands();
  for (size_t i = 0; i < strands.size(); ++i) {
    if (!work.Concerns(static_cast<int>(i))) continue;
    const bool last = --left == 0;
    strands[i]->strand.Post([task, unit = strands[i].get(),
                             index = static_cast<int>(i)]() mutable { task(*unit, index); },
                            last ? places.last : places.others);
    if (last) return;
  }
}

}  // namespace

Shard::Impl::Impl(const ShardOptions& options, uint64_t start_id, std::shared_ptr<ColdStore> store)
    : state(options, start_id, std::move(store)),
      gate(std::make_shared<RequestGate>(
          RequestGate::Limits{options.max_queued_requests, options.max_queued_bytes})) {
  for (int i = 0; i < state.strand_map.strands(); ++i) {
    strands.push_back(std::make_unique<StrandUnit>(state, i));
  }
  if (state.store != nullptr) catalog.emplace(*state.store);
}

Shard::Impl::~Impl() {
  gate->Close();
  gate->WaitUntilIdle(Clock::time_point::max());
  for (const auto& unit : strands) unit->strand.Stop();
}

wire::ErrorInfo Shard::Impl::Signed(wire::ErrorInfo error) const {
  if (!error.ok()) error.shard = static_cast<int32_t>(state.options.shard);
  return error;
}

absl::Status Shard::Impl::Signed(const absl::Status& status) const {
  return status.ok() ? status : wire::ToStatus(Signed(wire::FromStatus(status)));
}

PartPlaces Shard::Impl::PlacesFor(int64_t bytes) const {
  const auto place = [bytes](int64_t limit) {
    return bytes <= limit ? Strand::Where::kHereIfIdle : Strand::Where::kOwnThread;
  };
  return {.others = place(state.options.short_request_bytes),
          .last = place(state.options.last_part_here_bytes)};
}

void Shard::Impl::CountFailure(const wire::ErrorInfo& error) {
  if (error.ok()) return;
  state.counters.requests_failed.Add();
  if (error.kind == wire::ErrorKind::kDeadlineExceeded) state.counters.deadlines_passed.Add();
}

wire::ErrorInfo Shard::Impl::NotAdmitted(RequestGate::Admission admission) {
  if (admission == RequestGate::Admission::kClosed) return Signed(Draining());
  state.counters.overload_refusals.Add();
  return Signed(QueueFull());
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
  if (options.strands <= 0) wrong = "strands must be positive";
  if (options.max_sessions <= 0) wrong = "max_sessions must be positive";
  if (wrong != nullptr) return wire::MakeError(wire::ErrorKind::kInvalidArgument, wrong);
  std::shared_ptr<ColdStore> store;
  if (options.cold) {
    const int partition_bits = StrandMap(options.map, options.shard, 1).partition_bits();
    auto opened = ColdStore::Open(*options.cold, partition_bits);
    if (!opened.ok()) return opened.status();
    store = *std::move(opened);
  }
  auto impl = std::make_unique<Impl>(options, RandomStartId(), std::move(store));
  if (absl::Status status = impl->RestoreTables(); !status.ok()) return impl->Signed(status);
  return std::unique_ptr<Shard>(new Shard(std::move(impl)));
}

void Shard::Pull(wire::PullRequest request, Deadline deadline,
                 absl::AnyInvocable<void(PullReply)> done) {
  Impl& impl = *impl_;
  impl.state.counters.pull_requests.Add();
  const int64_t bytes = BytesOf(request);
  const auto answer = [&impl](PullReply reply, auto& to) {
    impl.CountFailure(reply.message.error);
    reply.message.error = impl.Signed(std::move(reply.message.error));
    to(std::move(reply));
  };
  const auto refuse = [&](wire::ErrorInfo error) {
    PullReply reply;
    reply.message.request_id = request.request_id;
    reply.message.error = std::move(error);
    answer(std::move(reply), done);
  };
  const auto admission = impl.gate->Reserve(bytes);
  if (admission != RequestGate::Admission::kAdmitted) return refuse(impl.NotAdmitted(admission));
  const auto work = impl.pull_works.Take([&] { return std::make_unique<PullWork>(impl.state); });
  if (wire::ErrorInfo error = work->Prepare(request); !error.ok()) {
    refuse(std::move(error));
    return impl.gate->Release(bytes);
  }
  const int64_t size = bytes + static_cast<int64_t>(work->reply_bytes());
  work->shared().Begin(work->strands(), deadline,
                       [&impl, answer, raw = work.get(), bytes, done = std::move(done)]() mutable {
                         answer(raw->Finish(), done);
                         done = nullptr;
                         impl.gate->Release(bytes);
                       });
  PostParts(impl.strands, *work, impl.PlacesFor(size), [work](StrandUnit& unit, int index) {
    if (work->shared().InTime(Clock::now())) {
      work->Run(unit.state, index);
    } else {
      work->shared().Fail(DeadlinePassed());
    }
    work->shared().EndPart();
  });
}

void Shard::Push(wire::PushRequest request, Deadline deadline,
                 absl::AnyInvocable<void(PushReply)> done) {
  Impl& impl = *impl_;
  impl.state.counters.push_requests.Add();
  const int64_t bytes = BytesOf(request);
  const auto answer = [&impl](PushReply reply, auto& to) {
    wire::PushResponse& response = reply.message;
    impl.CountFailure(response.error);
    response.error = impl.Signed(std::move(response.error));
    for (auto& result : response.results) result.error = impl.Signed(std::move(result.error));
    to(std::move(reply));
  };
  PushReply fenced;
  if (AnswerIfAllAreFenced(impl.state, request, &fenced.message)) {
    impl.state.counters.sub_pushes_retried.Add(fenced.message.results.size());
    return answer(std::move(fenced), done);
  }
  const auto admission = impl.gate->Reserve(bytes);
  if (admission != RequestGate::Admission::kAdmitted) {
    PushReply reply;
    reply.message.request_id = request.request_id;
    reply.message.error = impl.NotAdmitted(admission);
    return answer(std::move(reply), done);
  }
  const auto work = impl.push_works.Take([&] { return std::make_unique<PushWork>(impl.state); });
  work->Prepare(std::move(request));
  work->shared().Begin(work->strands(), deadline,
                       [&impl, answer, raw = work.get(), bytes, done = std::move(done)]() mutable {
                         answer(raw->Finish(), done);
                         done = nullptr;
                         impl.gate->Release(bytes);
                       });
  PostParts(impl.strands, *work, impl.PlacesFor(bytes), [work](StrandUnit& unit, int index) {
    const auto now = Clock::now();
    if (work->shared().InTime(now)) {
      work->Run(unit.pushes, index, now);
    } else {
      work->shared().Fail(DeadlinePassed());
    }
    work->shared().EndPart();
  });
}

void Shard::Scan(uint32_t table_id, uint32_t batch_rows, bool with_state, ScanStarted done) {
  Impl& impl = *impl_;
  const auto admission = impl.gate->Reserve(0);
  if (admission != RequestGate::Admission::kAdmitted) {
    return done(wire::ToStatus(impl.Signed(impl.NotAdmitted(admission))));
  }
  const auto refuse = [&](const absl::Status& status) {
    done(impl.Signed(status));
    impl.gate->Release(0);
  };
  const TableDirectory::Entry entry = impl.state.tables.Find(table_id);
  if (entry == nullptr) return refuse(wire::ToStatus(NoSuchTable(table_id)));
  const ScanRange range{
      .table_id = table_id,
      .batch_rows = ScanBatchRows(batch_rows, entry->options.layout(), with_state),
      .with_state = with_state};
  auto scan = impl.state.scans.Start(range, {impl.state.budget, impl.state.store}, Clock::now());
  if (!scan.ok()) return refuse(scan.status());
  CollectKeys(*std::move(scan),
              {.gate = impl.gate,
               .strands = &impl.strands,
               .scans = &impl.state.scans,
               .shard = impl.state.options.shard},
              0, std::move(done));
}

bool Shard::Drain(Deadline deadline) {
  impl_->draining.store(true, std::memory_order_relaxed);
  impl_->gate->Close();
  return impl_->gate->WaitUntilIdle(deadline);
}

const ShardCounters& Shard::counters() const { return impl_->state.counters; }
const wire::ShardMap& Shard::map() const { return impl_->state.options.map; }
uint32_t Shard::shard() const { return impl_->state.options.shard; }
uint64_t Shard::server_start_id() const { return impl_->state.server_start_id; }

}  // namespace hotrow
