// One pull, over all its tables and shards, from the routed keys to the rows.
//
// Thread safety: built by one thread; replies may arrive on several. Ownership: owns the received
// buffers; each of its messages keeps it alive. Errors: the first by shard number; no rows then.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/src/batch_router.h"
#include "client/src/shard_request.h"
#include "client/src/table_state.h"
#include "hotrow/pulled_batch.h"
#include "proto/wire/payload.h"

namespace hotrow::client {

class PullOperation : public std::enable_shared_from_this<PullOperation> {
 public:
  struct Environment {
    std::shared_ptr<const wire::ShardMap> map;
    std::shared_ptr<WorkspacePool> workspaces;
    wire::PullMode mode = wire::PullMode::kTrain;
    Patience patience;
    // (shard) where each shard's messages are to be enqueued.
    std::function<void(uint32_t, std::shared_ptr<ShardRequest>)> enqueue;
  };
  using DoneCallback = std::function<void(const absl::Status&)>;

  explicit PullOperation(Environment environment) : environment_(std::move(environment)) {}
  ~PullOperation();

  // Adds keys that were found valid. `keys` is not kept.
  void AddTable(std::shared_ptr<TableState> table, std::span<const Key> keys,
                std::optional<Key> skip);
  // Bytes of requests and replies.
  int64_t bytes() const { return bytes_; }
  // Enqueues the messages. `done` runs exactly once, on any thread: here when there are no
  // messages.
  void Start(DoneCallback done);
  // The rows of all tables, once done without an error.
  std::vector<std::shared_ptr<PulledBatch>> Batches();

 private:
  class Message;
  class Batch;
  struct TablePart {
    std::shared_ptr<TableState> state;
    std::unique_ptr<BatchWorkspace> workspace;
    int64_t dim = 0;
  };

  std::optional<Again> TakeReply(const Message& message, wire::PullResponse response, int attempts);
  absl::Status PlaceRows(const Message& message, const wire::PullResponse& response);
  void FinishMessage(uint32_t shard, const absl::Status& status);

  const Environment environment_;
  std::vector<TablePart> tables_;
  std::vector<wire::Payload> payloads_;  // (messages) written by the message's own reply only
  int64_t bytes_ = 0;
  DoneCallback done_;

  Mutex mutex_;
  size_t open_messages_ HOTROW_GUARDED_BY(mutex_) = 0;
  std::vector<int64_t> initial_rows_ HOTROW_GUARDED_BY(mutex_);        // (tables)
  std::map<uint32_t, absl::Status> errors_ HOTROW_GUARDED_BY(mutex_);  // by shard, the first
  std::vector<wire::RowLocator> locators_;  // (messages) own the rows that lie across two slices
};

}  // namespace hotrow::client
