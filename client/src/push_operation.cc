#include "client/src/push_operation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/backoff.h"
#include "client/src/client_error.h"
#include "client/src/request_queue.h"
#include "proto/wire/hashes.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

namespace {

// Of several sub-pushes that stay open the heaviest reason decides: what lasts, then damage (which
// has a bound), then want of room, which is the cause of what follows it.
int Weight(wire::ErrorKind kind) {
  switch (kind) {
    case wire::ErrorKind::kOutOfOrder:
      return 0;
    case wire::ErrorKind::kUnavailable:
    case wire::ErrorKind::kDeadlineExceeded:
      return 1;
    case wire::ErrorKind::kOverloaded:
      return 2;
    case wire::ErrorKind::kNone:
    case wire::ErrorKind::kDataLoss:
      return 3;
    default:
      return 4;
  }
}

}  // namespace

class PushOperation::Message final : public ShardRequest {
 public:
  Message(std::shared_ptr<PushOperation> operation, uint32_t shard)
      : ShardRequest(Never()), operation_(std::move(operation)), shard_(shard) {}

  uint32_t shard() const { return shard_; }
  std::vector<Frozen>& sub_pushes() { return sub_pushes_; }

  bool Fits(const wire::SubPush& sub_push) const {
    return sub_pushes_.size() < static_cast<size_t>(wire::kMaxSubPushesPerMessage) &&
           bytes_ + SubPushMessageBytes(sub_push) <= wire::kMaxPayloadBytes &&
           !IsFullOf(sub_push.partition);
  }
  void Add(Frozen sub_push) {
    bytes_ += SubPushMessageBytes(sub_push.header);
    sub_pushes_.push_back(std::move(sub_push));
  }

  grpc::ByteBuffer Encode(uint64_t request_id) override {
    wire::PushRequest request;
    request.request_id = request_id;
    request.session = operation_->environment_.session->id();
    request.timeline = operation_->environment_.map->timeline();
    request.map_version = operation_->environment_.map->version();
    std::vector<grpc::Slice> slices;
    for (const Frozen& sub_push : sub_pushes_) {
      request.sub_pushes.push_back(sub_push.header);
      slices.insert(slices.end(), sub_push.slices.begin(), sub_push.slices.end());
    }
    return wire::Encode(request, std::move(slices));
  }

  std::optional<Again> OnReply(Reply reply, int attempts) override {
    const wire::PushResponse response = std::get<wire::PushResponse>(std::move(reply));
    if (!response.error.ok()) return AgainOrNever(response.error, attempts);
    if (!Answers(response.results)) {
      return AgainOrNever({.kind = wire::ErrorKind::kInternal,
                           .message = "the reply's results are not those of the request",
                           .shard = static_cast<int32_t>(shard_)},
                          attempts);
    }
    std::vector<Frozen> open;
    wire::ErrorInfo reason;
    for (size_t i = 0; i < sub_pushes_.size(); ++i) {
      if (response.results[i].outcome == wire::Outcome::kRetry) {
        const wire::ErrorInfo& error = response.results[i].error;
        if (open.empty() || Weight(error.kind) > Weight(reason.kind)) reason = error;
        open.push_back(std::move(sub_pushes_[i]));
      } else {
        operation_->TakeResult(shard_, response.results[i]);
      }
    }
    sub_pushes_ = std::move(open);
    if (!sub_pushes_.empty()) return AgainOrNever(reason, attempts);
    operation_->FinishMessage(shard_);
    return std::nullopt;
  }

  // Numbers that are given up leave a hole that nothing behind it can pass: the session is over.
  // They may have been applied, so the error is never one of a push that was not sent.
  void OnFailure(const absl::Status& status) override {
    operation_->environment_.session->MarkLost(status);
    operation_->AddError(shard_, PushesCannotGoOn(wire::FromStatus(status)));
    operation_->FinishMessage(shard_);
  }

 private:
  // Sub-pushes come partition by partition.
  bool IsFullOf(uint32_t partition) const {
    const auto count = static_cast<int64_t>(sub_pushes_.size());
    return count >= kMaxSubPushesOfPartition &&
           sub_pushes_[count - kMaxSubPushesOfPartition].header.partition == partition;
  }

  bool Answers(const std::vector<wire::SubPushResult>& results) const {
    if (results.size() != sub_pushes_.size()) return false;
    for (size_t i = 0; i < results.size(); ++i) {
      const wire::SubPush& asked = sub_pushes_[i].header;
      if (results[i].partition != asked.partition || results[i].sequence != asked.sequence) {
        return false;
      }
    }
    return true;
  }

  // A number that stays open for a lasting reason can never be closed by sending it again, and what
  // follows it would wait for ever: the session is over.
  std::optional<Again> AgainOrNever(wire::ErrorInfo error, int attempts) {
    const absl::Status lost = operation_->environment_.session->lost();
    if (!lost.ok()) {  // an earlier number is open for ever: this one would wait behind it
      OnFailure(lost);
      return std::nullopt;
    }
    // Bytes that were damaged on the way are sent again as they are, but not for ever.
    const bool damaged = error.kind == wire::ErrorKind::kDataLoss || error.ok();
    if (IsTransient(error.kind) || (damaged && ++damaged_ < kMaxDamagedPushes)) {
      return Again{Backoff(attempts, error.retry_after_ms), std::move(error)};
    }
    if (error.ok()) error.message = "numbers stay open and the shard gives no reason";
    if (error.shard < 0) error.shard = static_cast<int32_t>(shard_);
    OnFailure(PushesCannotGoOn(error));
    return std::nullopt;
  }

  const std::shared_ptr<PushOperation> operation_;
  const uint32_t shard_;
  uint64_t bytes_ = 0;
  int damaged_ = 0;  // times that the shard could not read it, or would not say why
  std::vector<Frozen> sub_pushes_;
};

PushOperation::Frozen PushOperation::Freeze(uint32_t partition,
                                            const std::vector<Segment>& segments) const {
  Frozen frozen;
  frozen.header.partition = partition;
  frozen.header.operation = environment_.operation;
  for (const Segment& segment : segments) {
    const TablePart& part = tables_[segment.table];
    frozen.header.tables.push_back({.table_id = part.state->info.table_id,
                                    .key_count = segment.count(),
                                    .dim = static_cast<uint32_t>(part.payload.dim),
                                    .step = part.step,
                                    .learning_rate = part.learning_rate});
    part.payload.AppendPart(segment, frozen.slices);
  }
  const wire::Payload bytes(frozen.slices, 0, frozen.header.payload_bytes());
  frozen.header.content_hash = wire::ContentHash(frozen.header, bytes);
  return frozen;
}

std::vector<std::shared_ptr<PushOperation::Message>> PushOperation::CutMessages() {
  std::vector<KeyGroups> groups(tables_.size());
  std::vector<RoutedTable> routed;
  for (size_t t = 0; t < tables_.size(); ++t) {
    groups[t].starts = tables_[t].payload.starts;
    routed.push_back({&groups[t], tables_[t].payload.dim});
  }
  std::vector<std::shared_ptr<Message>> messages;
  std::vector<Message*> last(environment_.map->shards().size(), nullptr);
  for (uint32_t p = 0; p < environment_.map->partitions(); ++p) {
    const uint32_t shard = environment_.map->owner(p);
    for (const std::vector<Segment>& segments : CutSubPushes(routed, p)) {
      Frozen frozen = Freeze(p, segments);
      if (last[shard] == nullptr || !last[shard]->Fits(frozen.header)) {
        messages.push_back(std::make_shared<Message>(shared_from_this(), shard));
        last[shard] = messages.back().get();
      }
      last[shard]->Add(std::move(frozen));
    }
  }
  return messages;
}

absl::Status PushOperation::Start(DoneCallback done) {
  done_ = std::move(done);
  std::vector<std::shared_ptr<Message>> messages = CutMessages();
  std::vector<wire::SubPush*> numbered;
  for (const std::shared_ptr<Message>& message : messages) {
    for (Frozen& sub_push : message->sub_pushes()) numbered.push_back(&sub_push.header);
  }
  {
    MutexLock lock(mutex_);
    open_messages_ = messages.size() + 1;  // one for this call
    for (const std::shared_ptr<Message>& message : messages) ++open_of_shard_[message->shard()];
  }
  const absl::Status status = environment_.session->Number(numbered, [&] {
    for (const std::shared_ptr<Message>& message : messages) {
      environment_.enqueue(message->shard(), message);
    }
  });
  if (status.ok()) {
    FinishPart();
  } else {
    done_ = nullptr;
  }
  return status;
}

void PushOperation::TakeResult(uint32_t shard, const wire::SubPushResult& result) {
  MutexLock lock(mutex_);
  if (result.outcome == wire::Outcome::kRefused) {
    wire::ErrorInfo error = result.error;
    if (error.ok()) error = {.kind = wire::ErrorKind::kInternal, .message = "refused"};
    if (error.shard < 0) error.shard = static_cast<int32_t>(shard);
    if (error.table.empty() && tables_.size() == 1) {
      error.table = tables_[0].state->info.schema.name;
    }
    errors_.emplace(shard, wire::ToStatus(error));
    return;
  }
  for (const wire::TableCounts& counts : result.counts) {
    counts_.rows_updated += counts.rows_updated;
    counts_.rows_created += counts.rows_created;
    if (counts.rows_refused == 0) continue;
    if (refused_table_.empty()) refused_table_ = TableName(counts.table_id);
    refused_[shard].rows += counts.rows_refused;
  }
  // A retry may be answered without the keys: the counts decide.
  if (!result.refused_keys.empty()) {
    std::vector<Key>& keys = refused_[shard].keys;
    keys.insert(keys.end(), result.refused_keys.begin(), result.refused_keys.end());
  }
}

void PushOperation::AddError(uint32_t shard, const absl::Status& status) {
  MutexLock lock(mutex_);
  errors_.emplace(shard, status);
}

std::vector<uint32_t> PushOperation::open_shards() const {
  std::vector<uint32_t> shards;
  MutexLock lock(mutex_);
  for (const auto& [shard, messages] : open_of_shard_) {
    if (messages > 0) shards.push_back(shard);
  }
  return shards;
}

void PushOperation::FinishMessage(uint32_t shard) {
  {
    MutexLock lock(mutex_);
    --open_of_shard_[shard];
  }
  FinishPart();
}

void PushOperation::FinishPart() {
  absl::StatusOr<PushCounts> result;
  {
    MutexLock lock(mutex_);
    if (--open_messages_ > 0) return;
    result = Result();
  }
  std::exchange(done_, nullptr)(result);
}

absl::StatusOr<PushCounts> PushOperation::Result() {
  if (!errors_.empty()) return errors_.begin()->second;
  if (refused_.empty()) return counts_;
  std::vector<Key> keys;
  int64_t rows = 0;
  for (const auto& [shard, refused] : refused_) {
    keys.insert(keys.end(), refused.keys.begin(), refused.keys.end());
    rows += refused.rows;
  }
  std::string hint = "Give the servers a larger memory budget, or more shards.";
  if (static_cast<int64_t>(keys.size()) < rows) {
    absl::StrAppend(&hint, " Only ", keys.size(), " of these keys are listed.");
  }
  return CapacityFull(
      {.kind = wire::ErrorKind::kCapacityFull,
       .message = absl::StrCat("table '", refused_table_, "': ", rows,
                               " new keys found no room; everything else was applied"),
       .hint = std::move(hint),
       .table = refused_table_,
       .shard = static_cast<int32_t>(refused_.begin()->first)},
      keys);
}

std::string PushOperation::TableName(uint32_t table_id) const {
  for (const TablePart& part : tables_) {
    if (part.state->info.table_id == table_id) return part.state->info.schema.name;
  }
  return "";
}

}  // namespace hotrow::client
