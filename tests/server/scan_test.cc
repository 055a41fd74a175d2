// Scans: every row that stays comes once, whatever is pushed meanwhile.

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "proto/wire/status_codec.h"
#include "server/shard/table_scan.h"
#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::ErrorKind;

struct ScannedRow {
  int times = 0;
  std::vector<float> values;
};
using Scanned = std::map<Key, ScannedRow>;

void Take(const ScanReply& reply, Scanned* scanned) {
  const size_t columns = reply.message.dim + reply.message.state_columns;
  const size_t bytes = reply.message.row_count * (8 + columns * 4);
  const wire::Payload payload(reply.payload, 0, bytes);
  EXPECT_EQ(payload.Hash(), reply.message.payload_hash);
  std::vector<std::byte> copy(bytes);
  payload.CopyTo(0, copy);
  for (uint32_t i = 0; i < reply.message.row_count; ++i) {
    const std::byte* record = copy.data() + i * (8 + columns * 4);
    Key key;
    std::memcpy(&key, record, 8);
    ScannedRow& row = (*scanned)[key];
    ++row.times;
    row.values.resize(columns);
    std::memcpy(row.values.data(), record + 8, columns * 4);
  }
}

Scanned ScanAll(OneTable& one, uint32_t batch_rows, bool with_state = false) {
  Scanned scanned;
  auto cursor = ScanNow(one.shard(), one.table_id(), batch_rows, with_state);
  EXPECT_TRUE(cursor.ok()) << cursor.status();
  while (cursor.ok()) {
    const auto reply = NextNow(**cursor);
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok() || reply->message.row_count == 0) break;
    EXPECT_LE(reply->message.row_count, batch_rows == 0 ? 4096U : batch_rows);
    Take(*reply, &scanned);
  }
  return scanned;
}

TEST(Scan, GivesEveryRowOnceInBatchesOfAnySize) {
  for (const int64_t rows : {0, 1, 31, 32, 33, 3000}) {
    OneTable one(SgdSchema("t", 3));
    const auto keys = MixedKeys(rows);
    one.PushAll(one.Part(keys, MixedRows(keys, 3)));
    for (const uint32_t batch : {0U, 1U, 32U, 1000U}) {
      const Scanned scanned = ScanAll(one, batch);
      ASSERT_EQ(scanned.size(), keys.size()) << rows << " rows, batch " << batch;
      for (const Key key : keys) {
        ASSERT_EQ(scanned.at(key).times, 1);
        ASSERT_EQ(scanned.at(key).values[2], 0.0F - MixedValue(key, 2));
      }
    }
  }
}

TEST(Scan, GivesTheOptimizerStateWhenAsked) {
  OneTable one(AdagradSchema("t", 2));
  one.PushAll(one.Part({5}, {3.0F, 0.5F}));
  const Scanned scanned = ScanAll(one, 10, true);
  ASSERT_EQ(scanned.size(), 1U);
  ASSERT_EQ(scanned.at(5).values.size(), 4U);
  EXPECT_EQ(scanned.at(5).values[2], 9.0F);
  EXPECT_EQ(scanned.at(5).values[3], 0.25F);
}

TEST(Scan, GivesEveryRowOnceWhilePushesCreateAndRemovesTakeAway) {
  OneTable one(SgdSchema("t", 3));
  const auto keys = MixedKeys(2000);
  one.PushAll(one.Part(keys, MixedRows(keys, 3)));
  auto cursor = ScanNow(one.shard(), one.table_id(), 64);
  ASSERT_TRUE(cursor.ok());
  Scanned scanned;
  // Keys of partition 3 are removed before the first batch; others are created in between.
  std::vector<Key> gone;
  for (const Key key : keys) {
    if (one.map().PartitionOf(key, wire::TableSalt("t")) == 3) gone.push_back(key);
  }
  ASSERT_GT(gone.size(), 5U);
  const auto remove =
      Freeze(3, 2, wire::Operation::kRemove, {{one.table_id(), gone, {}, 0, 1, 0.0F}});
  EXPECT_EQ(one.Send(remove).counts[0].rows_updated, gone.size());
  for (uint64_t round = 1;; ++round) {
    const auto reply = NextNow(**cursor);
    ASSERT_TRUE(reply.ok());
    if (reply->message.row_count == 0) break;
    Take(*reply, &scanned);
    auto more = MixedKeys(300, round);
    std::erase_if(more,
                  [&](Key key) { return one.map().PartitionOf(key, wire::TableSalt("t")) == 3; });
    one.PushAll(one.Part(more, MixedRows(more, 3)));
  }
  EXPECT_EQ(scanned.size(), keys.size() - gone.size());
  for (const auto& [key, row] : scanned) EXPECT_EQ(row.times, 1);
  for (const Key key : gone) EXPECT_FALSE(scanned.contains(key));
}

TEST(Scan, RefusesAnUnknownTable) {
  OneTable one(SgdSchema("t", 3));
  EXPECT_EQ(KindOf(ScanNow(one.shard(), one.table_id() + 1, 1).status()), ErrorKind::kNotFound);
}

TEST(Scan, SendsFewerRowsThanAskedForWhereAMessageHasNoRoomForThem) {
  OneTable one(SgdSchema("t", 1000), {.strands = 1});  // a batch holds rows of one strand
  for (const uint64_t salt : {1, 2}) {
    const auto keys = MixedKeys(900, salt);
    one.PushAll(one.Part(keys, MixedRows(keys, 1000)));
  }
  auto cursor = ScanNow(one.shard(), one.table_id(), 65536);
  ASSERT_TRUE(cursor.ok());
  const auto first = NextNow(**cursor);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->message.row_count, wire::kMaxPayloadBytes / 4008);
  EXPECT_EQ(first->message.row_count + NextNow(**cursor)->message.row_count, 1800U);
}

TEST(Scan, EndsWithAnErrorWhenItsTableIsDropped) {
  OneTable one(SgdSchema("t", 3));
  const auto keys = MixedKeys(100);
  one.PushAll(one.Part(keys, MixedRows(keys, 3)));
  auto cursor = ScanNow(one.shard(), one.table_id(), 10);
  EXPECT_TRUE(NextNow(**cursor).ok());
  ASSERT_TRUE(one.shard().DropTable("t").ok());
  EXPECT_EQ(KindOf(NextNow(**cursor).status()), ErrorKind::kNotFound);
}

TEST(Scan, RunsAtMostFourAtOnceAndFreesAbandonedOnes) {
  OneTable one(SgdSchema("t", 3));
  one.PushAll(one.Part({5}, {1, 1, 1}));
  std::vector<std::unique_ptr<ScanCursor>> running;
  for (size_t i = 0; i < ScanSet::kMaxScans; ++i) {
    running.push_back(*ScanNow(one.shard(), one.table_id(), 10));
  }
  EXPECT_EQ(KindOf(ScanNow(one.shard(), one.table_id(), 10).status()), ErrorKind::kOverloaded);
  running.pop_back();
  EXPECT_TRUE(ScanNow(one.shard(), one.table_id(), 10).ok()) << "one was abandoned";
  NextNow(*running[0]).IgnoreError();
  NextNow(*running[0]).IgnoreError();  // the end
  const auto a = ScanNow(one.shard(), one.table_id(), 10);
  const auto b = ScanNow(one.shard(), one.table_id(), 10);
  EXPECT_TRUE(a.ok());
  EXPECT_TRUE(b.ok()) << "one has ended";
}

TEST(Scan, MayOutliveItsShard) {
  auto one = std::make_unique<OneTable>(SgdSchema("t", 3));
  one->PushAll(one->Part({5}, {1, 1, 1}));
  auto cursor = ScanNow(one->shard(), one->table_id(), 10);
  one = nullptr;
  EXPECT_EQ(KindOf(NextNow(**cursor).status()), ErrorKind::kUnavailable);
}

class ScanSetTest : public testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<TableScan>> Start(std::chrono::seconds at) {
    return scans_.Start({1, 10, false}, {budget_, nullptr}, TableScan::TimePoint(at));
  }

  void PushRows(const std::vector<Key>& keys) {
    RowBatch batch;
    std::vector<std::byte> bytes(keys.size() * 20);
    std::memcpy(bytes.data(), keys.data(), keys.size() * 8);
    const wire::Payload payload = Sliced(bytes);
    batch.Append(payload, 0, {1, static_cast<uint32_t>(keys.size()), 3, 1, 1.0F}, Duplicates::kSum);
    ASSERT_TRUE(table_->Resolve(batch).ok());
    table_->ApplyPush(batch);
  }

  std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>(64 << 20);
  TableWorkspace workspace_;
  std::unique_ptr<Table> table_ =
      *Table::Create(*TableOptions::FromSchema(SgdSchema("t", 3)), {*budget_}, workspace_);
  ScanSet scans_;
};

TEST_F(ScanSetTest, EndsAnIdleScanWhenItsPlaceIsNeeded) {
  using std::chrono::seconds;
  std::vector<std::shared_ptr<TableScan>> running;
  PushRows(MixedKeys(20));
  for (int i = 0; i < 4; ++i) {
    running.push_back(*Start(seconds(100 + i)));
    ASSERT_TRUE(running.back()->AddKeys(*table_).ok());
  }
  EXPECT_FALSE(Start(seconds(159)).ok());
  EXPECT_EQ(running[0]->Next(*table_, TableScan::TimePoint(seconds(150)))->message.row_count, 10U);
  EXPECT_FALSE(Start(seconds(160)).ok()) << "the others were used 59 s ago or less";
  EXPECT_TRUE(Start(seconds(161)).ok());
  EXPECT_TRUE(running[0]->Next(*table_, TableScan::TimePoint(seconds(162))).ok());
  // Not a last batch: half of its keys have not been read.
  const auto ended = running[1]->Next(*table_, TableScan::TimePoint(seconds(162)));
  EXPECT_EQ(wire::FromStatus(ended.status()).kind, ErrorKind::kDeadlineExceeded);
}

TEST_F(ScanSetTest, TakesItsKeysFromTheBudgetAndGivesThemBack) {
  PushRows(MixedKeys(100));
  const int64_t before = budget_->used_bytes();
  {
    const auto scan = Start(std::chrono::seconds(1));
    EXPECT_TRUE((*scan)->AddKeys(*table_).ok());
    EXPECT_EQ(budget_->used_bytes(), before + 800);
  }
  EXPECT_EQ(budget_->used_bytes(), before);
  MemoryBudget& budget = *budget_;
  ASSERT_TRUE(budget.TryTake(budget.limit_bytes() - before - 799));
  const int64_t full = budget.used_bytes();
  {
    // Rows can be saved from a shard that is full, by one scan at a time.
    const auto scan = Start(std::chrono::seconds(2));
    EXPECT_TRUE((*scan)->AddKeys(*table_).ok());
    const auto second = Start(std::chrono::seconds(2));
    EXPECT_EQ(KindOf((*second)->AddKeys(*table_)), ErrorKind::kOverloaded);
  }
  EXPECT_TRUE((*Start(std::chrono::seconds(2)))->AddKeys(*table_).ok());
  EXPECT_EQ(budget.used_bytes(), full);
  budget.GiveBack(budget.limit_bytes() - before - 799);
}

TEST_F(ScanSetTest, AnIdleScanGivesUpTheListBesideTheBudgetWhereverItStands) {
  using std::chrono::seconds;
  const auto at = [](int second) { return TableScan::TimePoint(seconds(second)); };
  PushRows(MixedKeys(100));
  auto first = *Start(seconds(1));
  ASSERT_TRUE(budget_->TryTake(budget_->limit_bytes() - budget_->used_bytes()));
  auto idle = *Start(seconds(1));
  ASSERT_TRUE(scans_.AddKeys(*idle, *table_, at(1)).ok());
  first = nullptr;  // its place is free, and comes before that of the idle one
  const auto later = *Start(seconds(61));
  EXPECT_EQ(KindOf(scans_.AddKeys(*later, *table_, at(60))), ErrorKind::kOverloaded);
  EXPECT_TRUE(scans_.AddKeys(*later, *table_, at(61)).ok());
  EXPECT_EQ(wire::FromStatus(idle->Next(*table_, at(62)).status()).kind,
            ErrorKind::kDeadlineExceeded);
  EXPECT_EQ(later->Next(*table_, at(62))->message.row_count, 10U);
}

}  // namespace
}  // namespace hotrow::test
