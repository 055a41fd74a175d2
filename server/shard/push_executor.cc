#include "server/shard/push_executor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "kernels/base/check.h"
#include "proto/wire/hashes.h"
#include "proto/wire/status_codec.h"
#include "server/shard/push_fence.h"
#include "server/shard/request_errors.h"

namespace hotrow {
namespace {

// Rows gathered before they are worked on: enough to hide memory latency, few enough that, where
// sub-pushes are small, their gradients are still in the second-level cache (bench/shard_bench.cc).
// A sub-push that begins below is gathered whole, up to 2 MiB.
constexpr int64_t kRowsAtATime = 1024;

wire::ErrorInfo Error(wire::ErrorKind kind, std::string message) {
  wire::ErrorInfo error;
  error.kind = kind;
  error.message = std::move(message);
  return error;
}

}  // namespace

wire::ErrorInfo PushExecutor::Run(const wire::PushRequest& request, std::span<const PushItem> items,
                                  std::chrono::steady_clock::time_point now) {
  if (auto error = state_.shard.sessions.Use(request.session, now); !error.ok()) return error;
  payload_ = &request.payload;
  for (const PushItem& item : items) {
    item.result->partition = item.sub_push->partition;
    item.result->sequence = item.sub_push->sequence;
    Handle(request, item);
  }
  Flush();
  return {};
}

void PushExecutor::Handle(const wire::PushRequest& request, const PushItem& item) {
  const wire::SubPush& sub_push = *item.sub_push;
  wire::SubPushResult* const result = item.result;
  if (sub_push.partition >= state_.partitions.count()) {
    return Refuse(Error(wire::ErrorKind::kInvalidArgument,
                        fmt::format("there is no partition {}", sub_push.partition)),
                  result);
  }
  if (auto error = CheckFence(state_.shard, request, sub_push); !error.ok()) {
    return Retry(std::move(error), result);
  }
  const wire::Payload part = request.payload.Part(item.offset, sub_push.payload_bytes());
  if (wire::ContentHash(sub_push, part) != sub_push.content_hash) {
    counters_.damaged_sub_pushes.Add();
    SPDLOG_WARN(
        "sub-push {} of session {:016x} for partition {} was damaged on the way, and refused",
        sub_push.sequence, request.session, sub_push.partition);
    return Retry(Error(wire::ErrorKind::kDataLoss,
                       fmt::format("the content hash of sub-push {} of partition {} does not match "
                                   "its bytes: damaged on the way",
                                   sub_push.sequence, sub_push.partition)),
                 result);
  }
  // Two sub-pushes of one partition are applied one after the other.
  if (pending_partitions_[sub_push.partition] != 0) Flush();
  HandleNumbered(request.session, item, part);
}

void PushExecutor::HandleNumbered(uint64_t session, const PushItem& item,
                                  const wire::Payload& part) {
  const wire::SubPush& sub_push = *item.sub_push;
  wire::SubPushResult* const result = item.result;
  Partition& partition = *state_.partitions.Find(sub_push.partition);
  const PushWindow* window = partition.FindWindow(session);
  const uint64_t next = window == nullptr ? 1 : window->next();
  result->durable_sequence = next;
  if (sub_push.sequence == 0) {
    return Refuse(Error(wire::ErrorKind::kInvalidArgument, "sequences count from 1, not 0"),
                  result);
  }
  if (sub_push.sequence > next) {
    return Retry(Error(wire::ErrorKind::kOutOfOrder,
                       fmt::format("partition {} expects sequence {}, not {}", sub_push.partition,
                                   next, sub_push.sequence)),
                 result);
  }
  if (sub_push.sequence < next) return AnswerConsumed(session, sub_push, *window, result);
  Accept(part, {&item, &partition.Window(session)});
}

void PushExecutor::AnswerConsumed(uint64_t session, const wire::SubPush& sub_push,
                                  const PushWindow& window, wire::SubPushResult* result) {
  const bool kept = window.Keeps(sub_push.sequence);
  const bool conflict = kept && sub_push.operation != wire::Operation::kSkip &&
                        window.content_hash(sub_push.sequence) != sub_push.content_hash;
  if (conflict) {
    counters_.content_conflicts.Add();
    SPDLOG_WARN(
        "session {:016x} uses number {} of partition {} a second time, for other bytes: its "
        "client is faulty",
        session, sub_push.sequence, sub_push.partition);
    return Refuse(Error(wire::ErrorKind::kInvalidArgument,
                        fmt::format("sequence {} of partition {} was used for other bytes",
                                    sub_push.sequence, sub_push.partition)),
                  result);
  }
  counters_.sub_pushes_duplicate.Add();
  if (kept) {
    *result = window.Answer(sub_push.sequence);
  } else {
    result->outcome = wire::Outcome::kApplied;
  }
  result->partition = sub_push.partition;
  result->durable_sequence = window.next();
  result->duplicate = true;
}

void PushExecutor::Accept(const wire::Payload& part, const Pending& pending) {
  const wire::SubPush& sub_push = pending.sub_push();
  if (!batch_.Takes(sub_push.operation) || batch_.rows() >= kRowsAtATime) Flush();
  wire::ErrorInfo error = batch_.Gather(sub_push, part);
  wire::SubPushResult* const result = pending.item->result;
  result->applied_lsn = state_.partitions.Find(sub_push.partition)->NextLsn();
  result->durable_sequence = sub_push.sequence + 1;
  if (!error.ok()) {
    Refuse(std::move(error), result);
    pending.window->Consume(sub_push.content_hash, *result);
    return;
  }
  batch_.SetLsn(result->applied_lsn);
  pending_.push_back(pending);
  pending_partitions_[sub_push.partition] = 1;
}

void PushExecutor::Flush() {
  const absl::Status applied = batch_.Apply();
  if (applied.ok()) {
    for (size_t i = 0; i < pending_.size(); ++i) AnswerApplied(i, pending_[i]);
  } else if (pending_.size() == 1) {
    AnswerFailed(applied, pending_.front());
  } else {
    FlushOneByOne();
  }
  for (const Pending& pending : pending_) pending_partitions_[pending.sub_push().partition] = 0;
  pending_.clear();
  batch_.Clear();
}

// Rows of some of them cannot be read: only those sub-pushes fail.
void PushExecutor::FlushOneByOne() {
  for (const Pending& pending : pending_) {
    batch_.Clear();
    const wire::SubPush& sub_push = pending.sub_push();
    const wire::Payload part = payload_->Part(pending.item->offset, sub_push.payload_bytes());
    const wire::ErrorInfo error = batch_.Gather(sub_push, part);
    HOTROW_CHECK(error.ok());  // it was gathered before
    batch_.SetLsn(pending.item->result->applied_lsn);
    const absl::Status applied = batch_.Apply();
    if (applied.ok()) {
      AnswerApplied(0, pending);
    } else {
      AnswerFailed(applied, pending);
    }
  }
}

void PushExecutor::AnswerApplied(size_t gathered, const Pending& pending) {
  wire::SubPushResult* const result = pending.item->result;
  result->outcome = wire::Outcome::kApplied;
  batch_.Report(gathered, result);
  pending.window->Consume(pending.sub_push().content_hash, *result);
  counters_.sub_pushes_applied.Add();
}

// A damaged row stays damaged; anything else is tried again with the same number.
void PushExecutor::AnswerFailed(const absl::Status& status, const Pending& pending) {
  wire::SubPushResult* const result = pending.item->result;
  wire::ErrorInfo error = wire::FromStatus(status);
  if (error.kind == wire::ErrorKind::kDataLoss) {
    Refuse(std::move(error), result);
    pending.window->Consume(pending.sub_push().content_hash, *result);
  } else {
    result->applied_lsn = 0;
    result->durable_sequence = pending.sub_push().sequence;
    Retry(std::move(error), result);
  }
}

void PushExecutor::Retry(wire::ErrorInfo error, wire::SubPushResult* result) {
  counters_.sub_pushes_retried.Add();
  result->outcome = wire::Outcome::kRetry;
  result->error = std::move(error);
}

void PushExecutor::Refuse(wire::ErrorInfo error, wire::SubPushResult* result) {
  counters_.sub_pushes_refused.Add();
  result->outcome = wire::Outcome::kRefused;
  result->error = std::move(error);
}

}  // namespace hotrow
