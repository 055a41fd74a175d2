#include "client/src/pull_operation.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/backoff.h"
#include "client/src/client_error.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

class PullOperation::Message final : public ShardRequest {
 public:
  Message(std::shared_ptr<PullOperation> operation, uint32_t shard, size_t index,
          std::vector<Segment> segments)
      : ShardRequest(operation->environment_.patience),
        operation_(std::move(operation)),
        shard_(shard),
        index_(index),
        segments_(std::move(segments)),
        keys_(GatherKeys()) {}

  uint32_t shard() const { return shard_; }
  size_t index() const { return index_; }
  const std::vector<Segment>& segments() const { return segments_; }

  grpc::ByteBuffer Encode(uint64_t request_id) override {
    wire::PullRequest request;
    const Environment& environment = operation_->environment_;
    request.request_id = request_id;
    request.timeline = environment.map->timeline();
    request.map_version = environment.map->version();
    request.mode = environment.mode;
    if (deadline() < Never()) {
      request.deadline_ms =
          static_cast<uint32_t>(std::clamp<int64_t>(TimeLeft(deadline()).count(), 1, UINT32_MAX));
    }
    for (const Segment& segment : segments_) {
      request.tables.push_back(
          {operation_->tables_[segment.table].state->info.table_id, segment.count()});
    }
    return wire::Encode(request, {keys_});
  }

  std::optional<Again> OnReply(Reply reply, int attempts) override {
    return operation_->TakeReply(*this, std::get<wire::PullResponse>(std::move(reply)), attempts);
  }

  void OnFailure(const absl::Status& status) override { operation_->FinishMessage(shard_, status); }

 private:
  grpc::Slice GatherKeys() const {
    size_t count = 0;
    for (const Segment& segment : segments_) count += segment.count();
    wire::PayloadBuffer buffer(count * sizeof(Key));
    std::byte* out = buffer.bytes().data();
    for (const Segment& segment : segments_) {
      const BatchWorkspace& workspace = *operation_->tables_[segment.table].workspace;
      const std::span<const Key> unique = workspace.deduper.unique();
      for (int32_t i = segment.begin; i < segment.end; ++i, out += sizeof(Key)) {
        std::memcpy(out, &unique[workspace.groups.order[i]], sizeof(Key));
      }
    }
    return std::move(buffer).Release();
  }

  const std::shared_ptr<PullOperation> operation_;
  const uint32_t shard_;
  const size_t index_;
  const std::vector<Segment> segments_;
  const grpc::Slice keys_;
};

// One table of a finished pull.
class PullOperation::Batch final : public PulledBatch {
 public:
  Batch(std::shared_ptr<const PullOperation> operation, const TablePart& part, int64_t initial_rows)
      : operation_(std::move(operation)), part_(part), initial_rows_(initial_rows) {}

  std::span<const Key> keys() const override { return part_.workspace->deduper.unique(); }
  std::span<const int32_t> positions() const override { return part_.workspace->deduper.inverse(); }
  int64_t initial_rows() const override { return initial_rows_; }
  ConstRowsView rows() const override { return {part_.workspace->rows, part_.dim}; }

 private:
  const std::shared_ptr<const PullOperation> operation_;  // owns part_ and the buffers
  const TablePart& part_;
  const int64_t initial_rows_;
};

PullOperation::~PullOperation() {
  for (TablePart& part : tables_) environment_.workspaces->Give(std::move(part.workspace));
}

void PullOperation::AddTable(std::shared_ptr<TableState> table, std::span<const Key> keys,
                             std::optional<Key> skip) {
  TablePart part{.state = std::move(table), .workspace = environment_.workspaces->Take()};
  part.dim = part.state->info.schema.dim;
  BatchWorkspace& workspace = *part.workspace;
  workspace.deduper.Run(keys, skip);
  const std::span<const Key> unique = workspace.deduper.unique();
  GroupByShard(unique, part.state->salt, *environment_.map, workspace);
  workspace.rows.assign(unique.size(), nullptr);
  bytes_ += static_cast<int64_t>(unique.size()) * (8 + part.dim * 4);
  tables_.push_back(std::move(part));
}

void PullOperation::Start(DoneCallback done) {
  done_ = std::move(done);
  std::vector<RoutedTable> routed;
  for (const TablePart& part : tables_) routed.push_back({&part.workspace->groups, part.dim});
  std::vector<std::shared_ptr<Message>> messages;
  for (uint32_t shard = 0; shard < environment_.map->shards().size(); ++shard) {
    for (std::vector<Segment>& segments : CutPull(routed, shard)) {
      messages.push_back(std::make_shared<Message>(shared_from_this(), shard, messages.size(),
                                                   std::move(segments)));
    }
  }
  payloads_.resize(messages.size());
  locators_.resize(messages.size());
  {
    MutexLock lock(mutex_);
    open_messages_ = messages.size();
    initial_rows_.resize(tables_.size());
  }
  if (messages.empty()) {
    std::exchange(done_, nullptr)(absl::OkStatus());
    return;
  }
  for (const std::shared_ptr<Message>& message : messages) {
    environment_.enqueue(message->shard(), message);
  }
}

std::optional<Again> PullOperation::TakeReply(const Message& message, wire::PullResponse response,
                                              int attempts) {
  const wire::ErrorKind kind = response.error.kind;
  if (kind == wire::ErrorKind::kUnavailable || kind == wire::ErrorKind::kOverloaded) {
    return Again{Backoff(attempts, response.error.retry_after_ms), std::move(response.error)};
  }
  // The shard knows a table by its id only.
  const std::vector<Segment>& segments = message.segments();
  const int32_t table = segments.front().table;
  if (!response.error.ok() && response.error.table.empty() && segments.back().table == table) {
    response.error.table = tables_[table].state->info.schema.name;
    response.error.message =
        absl::StrCat("table '", response.error.table, "': ", response.error.message);
  }
  absl::Status status = wire::ToStatus(response.error);
  if (status.ok()) status = PlaceRows(message, response);
  FinishMessage(message.shard(), status);
  return std::nullopt;
}

absl::Status PullOperation::PlaceRows(const Message& message, const wire::PullResponse& response) {
  bool as_asked = response.tables.size() == message.segments().size();
  for (size_t i = 0; as_asked && i < response.tables.size(); ++i) {
    const Segment& segment = message.segments()[i];
    const TablePart& part = tables_[segment.table];
    as_asked = response.tables[i].table_id == part.state->info.table_id &&
               response.tables[i].row_count == segment.count() &&
               response.tables[i].dim == static_cast<uint32_t>(part.dim);
  }
  if (!as_asked) {
    return wire::ToStatus({.kind = wire::ErrorKind::kInternal,
                           .message = "the reply's tables are not those of the request",
                           .shard = static_cast<int32_t>(message.shard())});
  }
  const wire::Payload& payload = payloads_[message.index()] = response.rows;
  wire::RowLocator& locator = locators_[message.index()];
  size_t offset = 0;
  for (const Segment& segment : message.segments()) {
    const TablePart& part = tables_[segment.table];
    locator.Append(payload, offset, segment.count(), part.dim);
    offset += size_t{segment.count()} * part.dim * sizeof(float);
  }
  const ConstRowPointer* row = locator.rows().data();
  for (const Segment& segment : message.segments()) {
    BatchWorkspace& workspace = *tables_[segment.table].workspace;
    for (int32_t i = segment.begin; i < segment.end; ++i) {
      workspace.rows[workspace.groups.order[i]] = *row++;
    }
  }
  MutexLock lock(mutex_);
  for (size_t i = 0; i < response.tables.size(); ++i) {
    initial_rows_[message.segments()[i].table] += response.tables[i].initial_count;
  }
  return absl::OkStatus();
}

void PullOperation::FinishMessage(uint32_t shard, const absl::Status& status) {
  absl::Status result;
  {
    MutexLock lock(mutex_);
    if (!status.ok()) errors_.emplace(shard, status);
    if (--open_messages_ > 0) return;
    if (!errors_.empty()) result = errors_.begin()->second;
  }
  std::exchange(done_, nullptr)(result);
}

std::vector<std::shared_ptr<PulledBatch>> PullOperation::Batches() {
  std::vector<std::shared_ptr<PulledBatch>> batches;
  MutexLock lock(mutex_);
  for (size_t i = 0; i < tables_.size(); ++i) {
    batches.push_back(std::make_shared<Batch>(shared_from_this(), tables_[i], initial_rows_[i]));
  }
  return batches;
}

}  // namespace hotrow::client
