// A shard in this process and a client of it that waits for every answer.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/v1/admin_service.pb.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "server/shard/shard.h"
#include "tests/server/push_messages.h"

namespace hotrow::test {

inline constexpr Deadline kNoDeadline = Deadline::max();

v1::TableSchema SgdSchema(const std::string& name, uint32_t dim);
v1::TableSchema AdagradSchema(const std::string& name, uint32_t dim);

// 1, or HOTROW_TEST_STRANDS: every test of a shard holds for any number of strands.
int DefaultStrands();

// False, or whether HOTROW_TEST_ON_DISK is set: every test of a shard holds with a cold tier too.
bool DefaultOnDisk();

struct HarnessOptions {
  uint32_t shards = 1;
  uint32_t partitions = 64;
  int64_t memory_budget_bytes = int64_t{256} << 20;
  int64_t max_queued_requests = 1024;
  int64_t max_queued_bytes = int64_t{256} << 20;
  int64_t max_sessions = 16;
  int strands = DefaultStrands();
  bool on_disk = DefaultOnDisk();  // in a new folder, unless cold_path names one
  std::string cold_path = {};
  int64_t warm_budget_bytes = 0;
  int64_t disk_budget_bytes = int64_t{1} << 30;
  std::function<int64_t()> free_bytes = {};  // of the file system; null: as it is
  int64_t write_queue_bytes = int64_t{64} << 20;
  int slots_per_set = 32;
  int64_t max_slots = 0;
  // Also of the last part. With several strands each part runs on its strand's thread, so that they
  // meet.
  int64_t short_request_bytes = strands > 1 ? 0 : kShortRequestBytes;
};

wire::ShardMap TestMap(const HarnessOptions& options);
std::unique_ptr<Shard> MakeShard(const HarnessOptions& options, uint32_t shard = 0);

// Blocking forms.
PullReply PullNow(Shard& shard, wire::PullRequest request, Deadline deadline = kNoDeadline);
wire::PushResponse PushNow(Shard& shard, wire::PushRequest request,
                           Deadline deadline = kNoDeadline);
absl::StatusOr<std::unique_ptr<ScanCursor>> ScanNow(Shard& shard, uint32_t table_id,
                                                    uint32_t batch_rows, bool with_state = false);
absl::StatusOr<ScanReply> NextNow(ScanCursor& cursor);

std::vector<float> Floats(const std::vector<grpc::Slice>& payload);

wire::ErrorKind KindOf(const absl::Status& status);

v1::OpenSessionRequest SessionRequest(uint64_t client, uint64_t restart_count = 0);

// Keys of `table` that belong to `partition`.
std::vector<Key> KeysOf(const wire::ShardMap& map, const std::string& table, uint32_t partition,
                        int64_t count);

// Blocks the first strand until released, so that requests queue up behind it.
class StrandBlocker {
 public:
  explicit StrandBlocker(Shard& shard);
  ~StrandBlocker() { Release(); }
  void Release();

 private:
  struct Gate;
  std::shared_ptr<Gate> gate_;
};

// One shard, one table "t", one session: what most tests of push rules need.
class OneTable {
 public:
  explicit OneTable(const v1::TableSchema& schema, HarnessOptions options = {});

  Shard& shard() { return *shard_; }
  const wire::ShardMap& map() const { return shard_->map(); }
  uint32_t table_id() const { return table_id_; }
  uint32_t dim() const { return schema_.dim(); }
  const std::string& name() const { return schema_.name(); }
  uint64_t session() const { return session_; }

  TablePart Part(std::vector<Key> keys, std::vector<float> rows) const;
  // A frozen push of mixed values for `keys`, all of one partition.
  FrozenSubPush Push(uint32_t partition, uint64_t sequence, const std::vector<Key>& keys) const;
  std::vector<Key> Keys(uint32_t partition, int64_t count) const;

  wire::SubPushResult Send(const FrozenSubPush& sub_push);
  // Sends a push of all keys, cut by partition and numbered on; every part must be applied.
  void PushAll(const TablePart& part);
  std::vector<float> Pull(const std::vector<Key>& keys);
  v1::TableStats Stats();

 private:
  v1::TableSchema schema_;
  std::unique_ptr<Shard> shard_;
  uint32_t table_id_ = 0;
  uint64_t session_ = 0;
  std::map<uint32_t, uint64_t> next_;  // by partition
};

}  // namespace hotrow::test
