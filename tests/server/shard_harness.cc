#include "tests/server/shard_harness.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>

#include "proto/wire/status_codec.h"
#include "tests/rpc/temporary_directory.h"
#include "tests/server/test_values.h"

namespace hotrow::test {

v1::TableSchema SgdSchema(const std::string& name, uint32_t dim) {
  v1::TableSchema schema;
  schema.set_name(name);
  schema.set_dim(dim);
  schema.mutable_optimizer()->mutable_sgd()->set_lr(1.0F);
  return schema;
}

v1::TableSchema AdagradSchema(const std::string& name, uint32_t dim) {
  v1::TableSchema schema;
  schema.set_name(name);
  schema.set_dim(dim);
  schema.mutable_optimizer()->mutable_adagrad()->set_lr(0.1F);
  schema.mutable_optimizer()->mutable_adagrad()->set_eps(1e-10F);
  return schema;
}

wire::ShardMap TestMap(const HarnessOptions& options) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < options.shards; ++i) names.push_back("shard-" + std::to_string(i));
  return *wire::ShardMap::Static(names, options.partitions);
}

int DefaultStrands() {
  const char* const wished = std::getenv("HOTROW_TEST_STRANDS");
  return wished == nullptr ? 1 : std::atoi(wished);
}

bool DefaultOnDisk() { return std::getenv("HOTROW_TEST_ON_DISK") != nullptr; }

namespace {

std::optional<ColdOptions> ColdOptionsOf(const HarnessOptions& options) {
  if (!options.on_disk && options.cold_path.empty()) return std::nullopt;
  static const hotrow::testing::TemporaryDirectory directory;
  static std::atomic<int> shards{0};
  ColdOptions cold;
  cold.path =
      options.cold_path.empty() ? directory.File(std::to_string(shards++)) : options.cold_path;
  cold.disk_budget_bytes = options.disk_budget_bytes;
  cold.memory_bytes = int64_t{16} << 20;
  cold.read_threads = 2;
  cold.reserve_bytes = options.free_bytes ? 4096 : 0;
  cold.free_bytes = options.free_bytes;
  return cold;
}

}  // namespace

std::unique_ptr<Shard> MakeShard(const HarnessOptions& options, uint32_t shard) {
  ShardOptions shard_options{.shard = shard,
                             .map = TestMap(options),
                             .memory_budget_bytes = options.memory_budget_bytes,
                             .warm_budget_bytes = options.warm_budget_bytes,
                             .cold = ColdOptionsOf(options),
                             .write_behind = {.max_bytes = options.write_queue_bytes,
                                              .chunk_bytes = options.write_queue_bytes / 8,
                                              .longest_wait = std::chrono::milliseconds(200),
                                              .retry_pause = std::chrono::milliseconds(5)},
                             .max_queued_requests = options.max_queued_requests,
                             .max_queued_bytes = options.max_queued_bytes,
                             .max_sessions = options.max_sessions,
                             .strands = options.strands,
                             .short_request_bytes = options.short_request_bytes,
                             .last_part_here_bytes = options.short_request_bytes,
                             .slots_per_set = options.slots_per_set,
                             .max_slots = options.max_slots};
  auto made = Shard::Create(std::move(shard_options));
  if (!made.ok()) {
    ADD_FAILURE() << std::string(made.status().message());
    return nullptr;
  }
  return *std::move(made);
}

PullReply PullNow(Shard& shard, wire::PullRequest request, Deadline deadline) {
  std::promise<PullReply> promise;
  shard.Pull(std::move(request), deadline,
             [&](PullReply reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

wire::PushResponse PushNow(Shard& shard, wire::PushRequest request, Deadline deadline) {
  std::promise<wire::PushResponse> promise;
  shard.Push(std::move(request), deadline,
             [&](PushReply reply) { promise.set_value(std::move(reply.message)); });
  return promise.get_future().get();
}

absl::StatusOr<std::unique_ptr<ScanCursor>> ScanNow(Shard& shard, uint32_t table_id,
                                                    uint32_t batch_rows, bool with_state) {
  std::promise<absl::StatusOr<std::unique_ptr<ScanCursor>>> promise;
  shard.Scan(table_id, batch_rows, with_state,
             [&](auto cursor) { promise.set_value(std::move(cursor)); });
  return promise.get_future().get();
}

absl::StatusOr<ScanReply> NextNow(ScanCursor& cursor) {
  std::promise<absl::StatusOr<ScanReply>> promise;
  cursor.Next([&](auto reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

std::vector<float> Floats(const std::vector<grpc::Slice>& payload) {
  std::vector<float> values;
  for (const grpc::Slice& slice : payload) {
    const size_t begin = values.size();
    values.resize(begin + slice.size() / sizeof(float));
    std::memcpy(values.data() + begin, slice.begin(), slice.size());
  }
  return values;
}

wire::ErrorKind KindOf(const absl::Status& status) { return wire::FromStatus(status).kind; }

v1::OpenSessionRequest SessionRequest(uint64_t client, uint64_t restart_count) {
  v1::OpenSessionRequest request;
  std::string uid(16, 'u');
  std::memcpy(uid.data(), &client, sizeof(client));
  request.set_client_uid(uid);
  request.set_restart_count(restart_count);
  request.set_session(wire::SessionId(std::as_bytes(std::span(uid)), restart_count));
  request.set_world_size(1);
  request.set_mode(v1::STEP_MODE_ASYNC);
  return request;
}

std::vector<Key> KeysOf(const wire::ShardMap& map, const std::string& table, uint32_t partition,
                        int64_t count) {
  std::vector<Key> keys;
  const uint64_t salt = wire::TableSalt(table);
  for (Key key = 0; static_cast<int64_t>(keys.size()) < count; ++key) {
    if (map.PartitionOf(key, salt) == partition) keys.push_back(key);
  }
  return keys;
}

struct StrandBlocker::Gate {
  std::promise<void> entered;
  std::promise<void> released;
  std::promise<void> left;
};

StrandBlocker::StrandBlocker(Shard& shard) : gate_(std::make_shared<Gate>()) {
  v1::CreateTableRequest request;
  *request.mutable_schema() = SgdSchema("strand_blocker", 1);
  request.set_exist_ok(true);
  const uint32_t table = shard.CreateTable(request)->table().table_id();
  // The callback of a scan runs on the first strand, before others when there are several.
  shard.Scan(table, 1, false, [gate = gate_](auto) {
    gate->entered.set_value();
    gate->released.get_future().get();
    gate->left.set_value();
  });
  gate_->entered.get_future().get();
}

void StrandBlocker::Release() {
  if (gate_ == nullptr) return;
  gate_->released.set_value();
  gate_->left.get_future().get();
  gate_ = nullptr;
}

OneTable::OneTable(const v1::TableSchema& schema, HarnessOptions options)
    : schema_(schema), shard_(MakeShard(options)) {
  v1::CreateTableRequest request;
  *request.mutable_schema() = schema;
  request.set_exist_ok(true);  // a shard on disk may have it
  const auto created = shard_->CreateTable(request);
  EXPECT_TRUE(created.ok()) << created.status();
  if (created.ok()) table_id_ = created->table().table_id();
  const auto opened = shard_->OpenSession(SessionRequest(1));
  EXPECT_TRUE(opened.ok()) << opened.status();
  if (opened.ok()) session_ = opened->session();
}

TablePart OneTable::Part(std::vector<Key> keys, std::vector<float> rows) const {
  return {table_id_, std::move(keys), std::move(rows), schema_.dim()};
}

FrozenSubPush OneTable::Push(uint32_t partition, uint64_t sequence,
                             const std::vector<Key>& keys) const {
  return Freeze(partition, sequence, wire::Operation::kPush,
                {Part(keys, MixedRows(keys, schema_.dim(), sequence))});
}

std::vector<Key> OneTable::Keys(uint32_t partition, int64_t count) const {
  return KeysOf(map(), name(), partition, count);
}

wire::SubPushResult OneTable::Send(const FrozenSubPush& sub_push) {
  wire::PushResponse response = PushNow(*shard_, Message(session_, {sub_push}));
  EXPECT_TRUE(response.error.ok()) << response.error.message;
  EXPECT_EQ(response.results.size(), 1U);
  return response.results.empty() ? wire::SubPushResult{} : response.results[0];
}

void OneTable::PushAll(const TablePart& part) {
  std::vector<FrozenSubPush> sub_pushes;
  for (const auto& [partition, share] : ByPartition(part, map(), wire::TableSalt(name()))) {
    sub_pushes.push_back(Freeze(partition, ++next_[partition], wire::Operation::kPush, {share}));
  }
  const wire::PushResponse response = PushNow(*shard_, Message(session_, sub_pushes));
  ASSERT_TRUE(response.error.ok()) << response.error.message;
  for (const auto& result : response.results) {
    ASSERT_EQ(result.outcome, wire::Outcome::kApplied) << result.error.message;
    ASSERT_FALSE(result.duplicate);
  }
}

std::vector<float> OneTable::Pull(const std::vector<Key>& keys) {
  const PullReply reply = PullNow(*shard_, PullMessage(table_id_, keys));
  EXPECT_TRUE(reply.message.error.ok()) << reply.message.error.message;
  return Floats(reply.payload);
}

v1::TableStats OneTable::Stats() {
  const auto stats = shard_->GetStats(schema_.name());
  EXPECT_TRUE(stats.ok()) << stats.status();
  return stats.ok() ? stats->tables(0) : v1::TableStats{};
}

}  // namespace hotrow::test
