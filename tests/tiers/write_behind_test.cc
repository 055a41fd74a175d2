#include "server/tiers/write_behind.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

constexpr auto kLong = std::chrono::seconds(20);

class WriteBehindTest : public ::testing::Test {
 protected:
  WriteBehindTest() {
    ColdOptions options = TestColdOptions(directory_.File("rows"));
    options.reserve_bytes = 2;
    options.free_bytes = [this] {
      disk_stands_.wait(true);
      return disk_full_.load() ? 0 : int64_t{1} << 40;
    };
    store_ = OpenStore(options);
  }

  static WriteBehindOptions Options() {
    WriteBehindOptions options;
    options.max_bytes = 100'000;
    options.chunk_bytes = 20'000;
    options.longest_wait = std::chrono::milliseconds(300);
    options.retry_pause = std::chrono::milliseconds(1);
    return options;
  }

  void Add(WriteBehind& queue, Key key, uint64_t version, int8_t row_delta = 1) {
    auto entry = EntryOf(table_, key);
    entry.row_delta = row_delta;
    entry.score = static_cast<uint32_t>(MixKey(key));
    queue.Add(entry, RecordOf(TestLayout(), key ^ version));
  }

  // The version that is queued, or "none", or "removed".
  static std::string Queued(WriteBehind& queue, Key key, int versions) {
    const PendingRow row = queue.Find(7, key);
    if (row.state == PendingRow::State::kUnknown) return "none";
    if (row.state == PendingRow::State::kRemoved) return "removed";
    EXPECT_EQ(row.score, static_cast<uint32_t>(MixKey(key)));
    const std::vector<std::byte> record(row.record, row.record + TestLayout().row_bytes);
    for (int version = 0; version < versions; ++version) {
      if (record == RecordOf(TestLayout(), key ^ static_cast<uint64_t>(version))) {
        return std::to_string(version);
      }
    }
    return "damaged";
  }

  TemporaryDirectory directory_;
  std::atomic<bool> disk_full_{false};
  std::atomic<bool> disk_stands_{false};
  std::unique_ptr<ColdStore> store_;
  const ColdTable table_ = TestTable();
};

TEST_F(WriteBehindTest, WhatIsDrainedIsInTheStore) {
  WriteBehind queue(*store_, Options());
  const auto keys = Keys(0, 3000);
  for (const Key key : keys) {
    ASSERT_OK(queue.MakeRoom(200, Patience::kBounded));
    Add(queue, key, 0);
  }
  ASSERT_OK(queue.Drain(kLong));
  EXPECT_EQ(queue.pending_bytes(), 0);
  for (const Key key : keys) EXPECT_EQ(Queued(queue, key, 1), "none");
  ExpectRows(*store_, table_, keys);
  EXPECT_EQ(RowsOf(*store_, table_), 3000);
}

TEST_F(WriteBehindTest, ShowsTheNewestVersionUntilItIsInTheStore) {
  disk_full_ = true;
  WriteBehind queue(*store_, Options());
  for (int version = 0; version < 5; ++version) {
    for (const Key key : Keys(0, 100))
      Add(queue, key, static_cast<uint64_t>(version), version == 0);
    for (const Key key : Keys(0, 100)) {
      EXPECT_EQ(Queued(queue, key, 5), std::to_string(version));
    }
  }
  EXPECT_EQ(Queued(queue, Keys(100, 1)[0], 5), "none");
  disk_full_ = false;
  ASSERT_OK(queue.Drain(kLong));
  ExpectRows(*store_, table_, Keys(0, 100), 4);
  EXPECT_EQ(RowsOf(*store_, table_), 100);
}

TEST_F(WriteBehindTest, ARemovalHidesWhatCameBefore) {
  disk_full_ = true;
  WriteBehind queue(*store_, Options());
  const Key key = 5;
  Add(queue, key, 0);
  auto removal = EntryOf(table_, key);
  removal.removed = true;
  removal.row_delta = -1;
  queue.Add(removal, {});
  EXPECT_EQ(Queued(queue, key, 3), "removed");
  Add(queue, 6, 0);
  queue.Add(removal, {});
  Add(queue, key, 2);
  EXPECT_EQ(Queued(queue, key, 3), "2");
  disk_full_ = false;
  ASSERT_OK(queue.Drain(kLong));
  ExpectRows(*store_, table_, {key}, 2);
}

TEST_F(WriteBehindTest, HoldsNoMoreThanItsBoundAndSaysWhy) {
  disk_full_ = true;
  WriteBehind queue(*store_, Options());
  absl::Status room;
  int added = 0;
  for (; added < 100'000; ++added) {
    room = queue.MakeRoom(200, Patience::kBounded);
    if (!room.ok()) break;
    Add(queue, static_cast<Key>(added), 0);
    ASSERT_LE(queue.pending_bytes(), Options().max_bytes);
  }
  ASSERT_FALSE(room.ok());
  EXPECT_EQ(KindOf(room), wire::ErrorKind::kUnavailable);
  EXPECT_NE(TextOf(room).find("bytes left"), std::string::npos) << TextOf(room);
  EXPECT_FALSE(queue.MakeRoom(200, Patience::kNone).ok());
  EXPECT_FALSE(queue.Drain(std::chrono::milliseconds(50)).ok());
  // Everything that was taken is still here, and comes to the disk when there is room again.
  for (int i = 0; i < added; ++i) ASSERT_EQ(Queued(queue, static_cast<Key>(i), 1), "0");
  disk_full_ = false;
  absl::Status drained;
  const auto end = std::chrono::steady_clock::now() + kLong;
  do {
    drained = queue.Drain(kLong);
  } while (!drained.ok() && std::chrono::steady_clock::now() < end);
  ASSERT_OK(drained);
  EXPECT_EQ(RowsOf(*store_, table_), added);
}

TEST_F(WriteBehindTest, ADiskThatIsTooSlowIsNoFault) {
  WriteBehindOptions options = Options();
  options.longest_wait = std::chrono::milliseconds(20);
  WriteBehind queue(*store_, options);
  disk_stands_ = true;
  absl::Status room;
  int added = 0;
  for (; added < 100'000; ++added) {
    room = queue.MakeRoom(200, Patience::kBounded);
    if (!room.ok()) break;
    Add(queue, static_cast<Key>(added), 0);
  }
  EXPECT_EQ(KindOf(room), wire::ErrorKind::kOverloaded);
  EXPECT_GT(wire::FromStatus(room).retry_after_ms, 0);
  EXPECT_EQ(KindOf(queue.MakeRoom(200, Patience::kNone)), wire::ErrorKind::kOverloaded);
  for (int i = 0; i < added; ++i) ASSERT_EQ(Queued(queue, static_cast<Key>(i), 1), "0");
  disk_stands_ = false;
  disk_stands_.notify_all();
  ASSERT_OK(queue.Drain(kLong));
  EXPECT_EQ(RowsOf(*store_, table_), added);
}

TEST_F(WriteBehindTest, TakesABatchLargerThanItsBoundWhenItIsEmpty) {
  WriteBehind queue(*store_, Options());
  Add(queue, 1, 0);
  ASSERT_OK(queue.MakeRoom(10 * Options().max_bytes, Patience::kBounded));
  EXPECT_EQ(queue.pending_bytes(), 0);
}

TEST_F(WriteBehindTest, WritesAChunkThatIsOldAtTheNextCall) {
  WriteBehindOptions options = Options();
  options.chunk_age = std::chrono::milliseconds(1);
  WriteBehind queue(*store_, options);
  Add(queue, 1, 0);
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (queue.pending_bytes() > 0 && std::chrono::steady_clock::now() < end) {
    ASSERT_OK(queue.MakeRoom(0, Patience::kNone));
  }
  ExpectRows(*store_, table_, {1});
}

TEST_F(WriteBehindTest, EndsAtOnceWhileWritesFail) {
  disk_full_ = true;
  WriteBehindOptions options = Options();
  options.retry_pause = std::chrono::hours(1);
  WriteBehind queue(*store_, options);
  for (Key key = 0; key < 500; ++key) Add(queue, key, 0);
}

TEST_F(WriteBehindTest, ForgetsATableAndKeepsTheOthers) {
  disk_full_ = true;
  WriteBehind queue(*store_, Options());
  for (Key key = 0; key < 300; ++key) Add(queue, key, 0);
  auto other = EntryOf(TestTable(8), 1);
  other.row_delta = 1;
  other.score = static_cast<uint32_t>(MixKey(1));
  queue.Add(other, RecordOf(TestLayout(), 1));
  queue.Forget(7);
  for (Key key = 0; key < 300; ++key) EXPECT_EQ(Queued(queue, key, 1), "none");
  EXPECT_EQ(queue.Find(8, 1).state, PendingRow::State::kStored);
  disk_full_ = false;
  ASSERT_OK(store_->DropTable(table_));
  ASSERT_OK(queue.Drain(kLong));
  ExpectRows(*store_, TestTable(8), {1});
  ExpectNoRows(*store_, table_, Keys(0, 10));
  EXPECT_EQ(RowsOf(*store_, table_), 0);
}

}  // namespace
}  // namespace hotrow::testing
