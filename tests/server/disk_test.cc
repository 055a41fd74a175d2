// A shard whose rows rest on disk: what a restart brings back, and what it says.

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>

#include "proto/wire/hashes.h"
#include "proto/wire/status_codec.h"
#include "tests/rpc/temporary_directory.h"
#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

constexpr uint32_t kDim = 8;

class ShardOnDisk : public ::testing::Test {
 protected:
  HarnessOptions Options() const {
    return {.memory_budget_bytes = (int64_t{1} << 20) * DefaultStrands(),
            .on_disk = true,
            .cold_path = directory_.File("rows")};
  }

  void Start(const v1::TableSchema& schema) {
    one_.reset();
    one_.emplace(schema, Options());
  }
  // As SIGTERM does, then the same directory again.
  void Restart(const v1::TableSchema& schema) {
    one_->shard().Drain(kNoDeadline);
    const absl::Status saved = one_->shard().Save();
    ASSERT_TRUE(saved.ok()) << saved;
    Start(schema);
  }

  void PushKeys(const std::vector<Key>& keys, uint64_t salt) {
    one_->PushAll(one_->Part(keys, MixedRows(keys, kDim, salt)));
  }

  const hotrow::testing::TemporaryDirectory directory_;
  const v1::TableSchema schema_ = AdagradSchema("t", kDim);
  std::optional<OneTable> one_;
};

// Far more rows than memory holds: they are the same as in a shard with memory for all of them.
TEST_F(ShardOnDisk, RowsAreAsIfMemoryHadNoEnd) {
  Start(schema_);
  OneTable large(schema_, {.on_disk = false});
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t salt = 0; salt < 40; ++salt) {
      const auto keys = MixedKeys(500, salt);
      PushKeys(keys, round * 100 + salt);
      large.PushAll(large.Part(keys, MixedRows(keys, kDim, round * 100 + salt)));
    }
  }
  const v1::TableStats stats = one_->Stats();
  EXPECT_EQ(stats.rows(), 20'000U);
  EXPECT_LE(stats.allocated_bytes(), static_cast<uint64_t>(Options().memory_budget_bytes));
  for (uint64_t salt = 0; salt < 40; ++salt) {
    ASSERT_EQ(one_->Pull(MixedKeys(500, salt)), large.Pull(MixedKeys(500, salt)));
  }
}

TEST_F(ShardOnDisk, ACleanStopBringsBackEveryRowWithItsState) {
  Start(schema_);
  OneTable without_break(schema_, {.on_disk = false});
  const auto push = [&](uint64_t salt, uint64_t values) {
    const auto keys = MixedKeys(500, salt);
    PushKeys(keys, values);
    without_break.PushAll(without_break.Part(keys, MixedRows(keys, kDim, values)));
  };
  for (uint64_t salt = 0; salt < 30; ++salt) push(salt, salt);
  const uint32_t id = one_->table_id();
  const uint64_t step = one_->Stats().highest_step();
  Restart(schema_);
  EXPECT_EQ(one_->shard().recovery_note(), "");
  EXPECT_EQ(one_->table_id(), id) << "the same table";
  EXPECT_EQ(one_->Stats().rows(), 15'000U);
  EXPECT_EQ(one_->Stats().highest_step(), step);
  for (uint64_t salt = 0; salt < 30; ++salt) push(salt, salt + 7);  // goes on with its accumulators
  for (uint64_t salt = 0; salt < 30; ++salt) {
    ASSERT_EQ(one_->Pull(MixedKeys(500, salt)), without_break.Pull(MixedKeys(500, salt)));
  }
}

TEST_F(ShardOnDisk, LsnsGoOnAfterARestart) {
  Start(schema_);
  const auto keys = one_->Keys(3, 4);
  uint64_t last = 0;
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    last = one_->Send(one_->Push(3, sequence, keys)).applied_lsn;
  }
  Restart(schema_);
  EXPECT_GT(one_->Send(one_->Push(3, 1, keys)).applied_lsn, last);
}

TEST_F(ShardOnDisk, ACrashBringsBackTheLastFlushAndSaysSo) {
  Start(schema_);
  PushKeys(MixedKeys(20'000, 1), 1);
  one_.reset();  // as kill -9 would
  Start(schema_);
  const std::string note = one_->shard().recovery_note();
  EXPECT_NE(note.find("did not end cleanly"), std::string::npos) << note;
  EXPECT_NE(note.find("1 tables"), std::string::npos) << note;
  EXPECT_LT(one_->Stats().rows(), 20'000U);
}

TEST_F(ShardOnDisk, AnotherSchemaIsRefusedWithBothValues) {
  Start(schema_);
  PushKeys(MixedKeys(10), 1);
  Restart(schema_);
  const auto refusal = [&](const v1::TableSchema& schema) {
    v1::CreateTableRequest request;
    *request.mutable_schema() = schema;
    request.set_exist_ok(true);
    return one_->shard().CreateTable(request).status();
  };
  v1::TableSchema other = schema_;
  other.set_dim(16);
  EXPECT_EQ(KindOf(refusal(other)), wire::ErrorKind::kSchemaMismatch);
  EXPECT_NE(std::string(refusal(other).message()).find("dim = 8, not 16"), std::string::npos);
  other = SgdSchema("t", kDim);
  EXPECT_NE(std::string(refusal(other).message()).find("adagrad"), std::string::npos);
  EXPECT_NE(std::string(refusal(other).message()).find("sgd"), std::string::npos);
  other = schema_;
  other.mutable_eviction()->mutable_none();
  EXPECT_EQ(KindOf(refusal(other)), wire::ErrorKind::kSchemaMismatch);
}

TEST_F(ShardOnDisk, ADroppedTableStaysDroppedAndItsIdIsNotUsedAgain) {
  Start(schema_);
  PushKeys(MixedKeys(5000), 1);
  const uint32_t id = one_->table_id();
  EXPECT_EQ(*one_->shard().DropTable("t"), 5000U);
  Restart(AdagradSchema("other", kDim));
  EXPECT_EQ(KindOf(one_->shard().DescribeTable("t").status()), wire::ErrorKind::kNotFound);
  v1::CreateTableRequest request;
  *request.mutable_schema() = schema_;
  request.set_table_id(id);
  const auto again = one_->shard().CreateTable(request);
  EXPECT_EQ(KindOf(again.status()), wire::ErrorKind::kAlreadyExists);
  request.set_table_id(0);
  ASSERT_TRUE(one_->shard().CreateTable(request).ok());
  EXPECT_EQ(one_->shard().ListTables().size(), 2U);
}

TEST_F(ShardOnDisk, AScanMeetsEveryRowOnceWhilePushesGoOn) {
  Start(schema_);
  for (uint64_t salt = 0; salt < 30; ++salt) PushKeys(MixedKeys(500, salt), salt);
  auto cursor = ScanNow(one_->shard(), one_->table_id(), 333, /*with_state=*/true);
  ASSERT_TRUE(cursor.ok());
  std::set<Key> seen;
  for (uint64_t round = 0;; ++round) {
    const auto reply = NextNow(**cursor);
    ASSERT_TRUE(reply.ok()) << reply.status();
    if (reply->message.row_count == 0) break;
    EXPECT_EQ(reply->message.state_columns, kDim);
    const wire::Payload payload(reply->payload, 0, reply->message.row_count * (8 + 8 * kDim));
    for (uint32_t i = 0; i < reply->message.row_count; ++i) {
      Key key = 0;
      payload.CopyTo(i * (8 + 8 * kDim), std::as_writable_bytes(std::span(&key, 1)));
      EXPECT_TRUE(seen.insert(key).second);
    }
    PushKeys(MixedKeys(100, round % 30), round);  // rows move between the tiers meanwhile
    PushKeys(MixedKeys(10, 1000 + round), round);
  }
  EXPECT_EQ(seen.size(), 15'000U);
  for (uint64_t salt = 0; salt < 30; ++salt) {
    for (const Key key : MixedKeys(500, salt)) ASSERT_TRUE(seen.contains(key));
  }
}

// A disk that fills up while rows are on their way to it.
class FullDisk : public ::testing::Test {
 protected:
  FullDisk()
      : one_(AdagradSchema("t", kDim), {.partitions = 8,
                                        .memory_budget_bytes = int64_t{1} << 20,
                                        .strands = 1,
                                        .on_disk = true,
                                        .free_bytes = [this] { return free_bytes_.load(); },
                                        .write_queue_bytes = 64 << 10}) {
    v1::CreateTableRequest request;
    *request.mutable_schema() = AdagradSchema("second", kDim);
    second_id_ = one_.shard().CreateTable(request)->table().table_id();
    for (uint64_t salt = 0; salt < 30; ++salt) {
      one_.PushAll(one_.Part(MixedKeys(500, salt), MixedRows(MixedKeys(500, salt), kDim, salt)));
    }
  }

  // Pushes keys of a partition until one of them is answered with `outcome`.
  wire::SubPushResult PushUntil(wire::Outcome outcome, uint64_t first_salt) {
    wire::SubPushResult result;
    for (uint64_t salt = first_salt; salt < first_salt + 200; ++salt) {
      last_keys_.clear();
      for (const Key key : MixedKeys(500, salt % 30)) {
        if (one_.map().PartitionOf(key, wire::TableSalt("t")) == 3) last_keys_.push_back(key);
      }
      result = one_.Send(one_.Push(3, next_, last_keys_));
      if (result.outcome == wire::Outcome::kApplied) ++next_;
      if (result.outcome == outcome) break;
    }
    return result;
  }

  // Enough for new rows to be let in, too few for what lies in write buffers.
  static constexpr int64_t kTooFewToWrite = 5000;

  std::vector<Key> last_keys_;  // of PushUntil
  std::atomic<int64_t> free_bytes_{int64_t{1} << 40};
  OneTable one_;
  uint32_t second_id_ = 0;  // of an empty table
  uint64_t next_ = 31;      // of partition 3: each of 30 pushes had keys of every partition
};

TEST_F(FullDisk, AnswersWhyAndGoesOnWhenThereIsRoom) {
  const auto before = one_.Pull(MixedKeys(500, 3));
  free_bytes_ = 0;
  const wire::SubPushResult refused = PushUntil(wire::Outcome::kRetry, 0);
  ASSERT_EQ(refused.outcome, wire::Outcome::kRetry);
  EXPECT_EQ(refused.error.kind, wire::ErrorKind::kUnavailable);
  EXPECT_NE(refused.error.message.find("bytes left"), std::string::npos) << refused.error.message;
  EXPECT_EQ(refused.durable_sequence, next_) << "the number stays open";
  // Every row can still be pulled, wherever it lies, those that wait for the disk included.
  for (uint64_t salt = 0; salt < 30; ++salt) {
    const PullReply reply =
        PullNow(one_.shard(), PullMessage(one_.table_id(), MixedKeys(500, salt)));
    ASSERT_TRUE(reply.message.error.ok()) << reply.message.error.message;
    ASSERT_EQ(reply.message.tables[0].initial_count, 0U);
  }
  EXPECT_EQ(one_.Stats().rows(), 15'000U);
  EXPECT_GT(one_.Stats().eviction_failures(), 0U);
  // New keys are refused by name, with a count, and change nothing.
  const auto fresh = one_.Keys(5, 3);
  const auto answer = one_.Send(one_.Push(5, 31, fresh));
  EXPECT_EQ(answer.outcome, wire::Outcome::kApplied);
  EXPECT_EQ(answer.error.kind, wire::ErrorKind::kCapacityFull);
  EXPECT_EQ(answer.refused_keys.size(), 3U);
  free_bytes_ = int64_t{1} << 40;
  EXPECT_EQ(PushUntil(wire::Outcome::kApplied, 0).outcome, wire::Outcome::kApplied);
  EXPECT_EQ(one_.Stats().rows(), 15'000U);
}

// One sub-push over two tables, of which one cannot bring its rows up.
TEST_F(FullDisk, ChangesNoTableOfASubPushThatFailsInAnother) {
  free_bytes_ = kTooFewToWrite;
  ASSERT_EQ(PushUntil(wire::Outcome::kRetry, 0).outcome, wire::Outcome::kRetry);
  const auto fresh = KeysOf(one_.map(), "second", 3, 5);
  const TablePart first{second_id_, fresh, MixedRows(fresh, kDim), kDim};
  const auto result =
      one_.Send(Freeze(3, next_, wire::Operation::kPush,
                       {first, one_.Part(last_keys_, MixedRows(last_keys_, kDim))}));
  ASSERT_EQ(result.outcome, wire::Outcome::kRetry);
  EXPECT_EQ(one_.shard().GetStats("second")->tables(0).rows(), 0U);
}

TEST_F(FullDisk, AStopSaysThatRowsCouldNotBeSaved) {
  free_bytes_ = 0;
  one_.shard().Drain(kNoDeadline);
  const absl::Status saved = one_.shard().Save();
  EXPECT_EQ(KindOf(saved), wire::ErrorKind::kUnavailable);
}

// 4 rows in memory, 10 keys in turn, 100 rounds: every row as in memory alone.
class FewSlots : public ::testing::TestWithParam<bool> {};

TEST_P(FewSlots, RowsAreTheSameAsInMemory) {
  const v1::TableSchema schema = GetParam() ? AdagradSchema("t", 4) : SgdSchema("t", 4);
  OneTable small(
      schema, {.partitions = 1, .strands = 1, .on_disk = true, .slots_per_set = 4, .max_slots = 4});
  OneTable large(schema, {.partitions = 1, .strands = 1, .on_disk = false});
  for (int round = 0; round < 100; ++round) {
    for (Key key = 0; key < 10; ++key) {
      const std::vector<float> ones(4, 1.0F);
      small.PushAll(small.Part({key}, ones));
      large.PushAll(large.Part({key}, ones));
    }
  }
  std::vector<Key> keys(10);
  for (Key key = 0; key < 10; ++key) keys[key] = key;
  EXPECT_EQ(small.Pull(keys), large.Pull(keys));
  EXPECT_EQ(small.Stats().rows(), 10U);
  EXPECT_GT(small.Stats().evictions(), 900U) << "rows had to leave";
  if (!GetParam()) {
    EXPECT_EQ(small.Pull({3})[0], -100.0F);
    return;
  }
  auto cursor = ScanNow(small.shard(), small.table_id(), 100, /*with_state=*/true);
  const auto reply = NextNow(**cursor);
  ASSERT_TRUE(reply.ok());
  for (uint32_t i = 0; i < reply->message.row_count; ++i) {
    float accumulator = 0;
    const wire::Payload payload(reply->payload, 0, reply->message.row_count * 40);
    payload.CopyTo(i * 40 + 24, std::as_writable_bytes(std::span(&accumulator, 1)));
    EXPECT_EQ(accumulator, 100.0F);
  }
}

TEST_P(FewSlots, ANewKeyInAFreedSlotStartsAfresh) {
  v1::TableSchema schema = GetParam() ? AdagradSchema("t", 4) : SgdSchema("t", 4);
  schema.mutable_initializer()->mutable_constant()->set_value(5.0F);
  OneTable small(
      schema, {.partitions = 1, .strands = 1, .on_disk = true, .slots_per_set = 4, .max_slots = 4});
  const std::vector<float> twos(4, 2.0F);
  for (Key key = 0; key < 40; ++key) {
    small.PushAll(small.Part({key}, twos));
    EXPECT_EQ(small.Pull({key})[0], GetParam() ? 4.0F : 3.0F);
    EXPECT_EQ(small.Pull({key + 1000})[0], 5.0F);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, FewSlots, ::testing::Bool());

}  // namespace
}  // namespace hotrow::test
