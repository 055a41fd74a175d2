// One push, over all its tables, partitions and shards, from the built payloads to the last
// acknowledgement.
//
// Thread safety: built by one thread; replies may arrive on several. Ownership: each of its
// messages keeps it alive, with the bytes that may have to be sent again. Errors: the first by
// shard number; CapacityFull, with all refused keys, only when nothing else failed.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/src/push_payload.h"
#include "client/src/session.h"
#include "client/src/shard_request.h"
#include "hotrow/client.h"

namespace hotrow::client {

class PushOperation : public std::enable_shared_from_this<PushOperation> {
 public:
  struct Environment {
    std::shared_ptr<const wire::ShardMap> map;
    Session* session = nullptr;
    wire::Operation operation = wire::Operation::kPush;
    std::function<void(uint32_t, std::shared_ptr<ShardRequest>)> enqueue;
  };
  struct TablePart {
    std::shared_ptr<TableState> state;
    PushPayload payload;
    uint64_t step = 1;
    float learning_rate = 0.0F;
  };
  using DoneCallback = std::function<void(const absl::StatusOr<PushCounts>&)>;

  PushOperation(Environment environment, std::vector<TablePart> tables)
      : environment_(std::move(environment)), tables_(std::move(tables)) {}

  // Freezes, numbers and enqueues the sub-pushes. `done` runs exactly once, on any thread, unless
  // this returns an error: then nothing was numbered.
  absl::Status Start(DoneCallback done);
  // Those that have not acknowledged their part yet.
  std::vector<uint32_t> open_shards() const;

 private:
  class Message;
  struct Frozen {  // a sub-push and its bytes, for as long as it may have to be sent
    wire::SubPush header;
    std::vector<grpc::Slice> slices;
  };

  struct Refused {  // new keys that found no room
    int64_t rows = 0;
    std::vector<Key> keys;  // as far as the shard still knew them
  };

  std::vector<std::shared_ptr<Message>> CutMessages();
  Frozen Freeze(uint32_t partition, const std::vector<Segment>& segments) const;
  void TakeResult(uint32_t shard, const wire::SubPushResult& result);
  void AddError(uint32_t shard, const absl::Status& status);
  void FinishMessage(uint32_t shard);
  void FinishPart();
  absl::StatusOr<PushCounts> Result() HOTROW_REQUIRES(mutex_);
  std::string TableName(uint32_t table_id) const;

  const Environment environment_;
  const std::vector<TablePart> tables_;
  DoneCallback done_;

  mutable Mutex mutex_;
  size_t open_messages_ HOTROW_GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, int64_t> open_of_shard_ HOTROW_GUARDED_BY(mutex_);
  PushCounts counts_ HOTROW_GUARDED_BY(mutex_);
  std::map<uint32_t, absl::Status> errors_ HOTROW_GUARDED_BY(mutex_);  // by shard, the first
  std::map<uint32_t, Refused> refused_ HOTROW_GUARDED_BY(mutex_);      // by shard
  std::string refused_table_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow::client
