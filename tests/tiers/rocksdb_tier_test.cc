// Random operations on a cold tier against a map: over restarts, over crashes, and over a disk that
// refuses for a while.

#include "server/tiers/rocksdb_tier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>

#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

class RocksdbTierModel : public ::testing::TestWithParam<uint64_t> {
 protected:
  struct Row {
    uint64_t version = 0;
    uint32_t score = 0;

    friend bool operator==(const Row&, const Row&) = default;
  };
  using Rows = std::map<Key, Row>;

  RocksdbTierModel() : random_(GetParam()) { Start(); }

  void Start() {
    ColdOptions options = TestColdOptions(directory_.File("rows"));
    options.reserve_bytes = 2;
    options.free_bytes = [this] { return disk_full_.load() ? 0 : int64_t{1} << 40; };
    store_ = OpenStore(options);
    WriteBehindOptions queue;
    queue.max_bytes = 40'000;
    queue.chunk_bytes = 3'000;
    queue.retry_pause = std::chrono::milliseconds(1);
    queue_ = std::make_unique<WriteBehind>(*store_, queue);
    tier_ = std::make_unique<RocksdbTier>(*store_, *queue_,
                                          RocksdbTier::Options{.table = TestTable(),
                                                               .layout = TestLayout(),
                                                               .partition_bits = kPartitionBits,
                                                               .partitions = AllPartitions()});
  }

  void Stop() {
    tier_.reset();
    queue_.reset();
    store_.reset();
  }

  std::vector<Key> SomeKeys() {
    std::set<Key> keys;
    const uint64_t count = random_() % 5 == 0 ? 200 : random_() % 20;
    for (uint64_t i = 0; i < count; ++i) keys.insert(MixKey(random_() % 400));
    std::vector<Key> order(keys.begin(), keys.end());
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  // False when the disk is full: a queue at its bound takes no more.
  bool MakeRoom(const std::vector<Key>& keys) {
    const auto count = static_cast<int64_t>(keys.size());
    if (tier_->MakeRoom(count, Patience::kBounded).ok()) return true;
    if (disk_full_) return false;
    Drain();  // it was full a moment ago
    EXPECT_OK(tier_->MakeRoom(count, Patience::kBounded));
    return true;
  }

  // Rows as the tier above would hand them down.
  void Upsert() {
    const auto keys = SomeKeys();
    if (!MakeRoom(keys)) return;
    std::vector<std::vector<std::byte>> records;
    std::vector<const std::byte*> sources;
    std::vector<uint32_t> scores;
    for (const Key key : keys) {
      const auto known = model_.find(key);
      const bool clean = known != model_.end() && random_() % 3 == 0;
      const uint64_t version = clean ? known->second.version : ++version_;
      records.push_back(RecordOf(TestLayout(), key ^ version));
      TestLayout().meta(records.back().data())->flags =
          (clean ? 0 : kRowDirty) | (known == model_.end() ? 0 : kRowBelow);
      scores.push_back(static_cast<uint32_t>(MixKey(version)));
      if (!clean) model_[key] = {version, scores.back()};
    }
    for (const auto& record : records) sources.push_back(record.data());
    RowBlock displaced;
    tier_->Upsert({keys, sources, scores}, &displaced);
    ASSERT_EQ(displaced.size(), 0);
  }

  void Remove() {
    auto keys = SomeKeys();
    std::erase_if(keys, [&](Key key) { return !model_.contains(key); });
    if (!MakeRoom(keys)) return;
    tier_->Remove(keys);
    for (const Key key : keys) model_.erase(key);
  }

  void ExpectSame(const std::vector<Key>& keys, const Rows& model) {
    const auto lookup = random_() % 2 == 0 ? Lookup::kCopy : Lookup::kMove;
    FoundRows rows = FindRows(keys, [&](const RowTargets& to, std::span<uint8_t> found) {
      return tier_->Find(to, lookup, found);
    });
    ASSERT_OK(rows.status);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto row = model.find(keys[i]);
      ASSERT_EQ(rows.found[i], row != model.end()) << "key " << keys[i];
      if (row == model.end()) continue;
      ASSERT_EQ(rows.scores[i], row->second.score);
      RowMeta* const meta = TestLayout().meta(rows.records[i].data());
      ASSERT_EQ(meta->flags & kRowBelow, kRowBelow);
      auto expected = RecordOf(TestLayout(), keys[i] ^ row->second.version);
      meta->flags = TestLayout().meta(expected.data())->flags = 0;
      ASSERT_EQ(rows.records[i], expected) << "key " << keys[i];
    }
  }

  std::vector<Key> AllKeys() const {
    std::vector<Key> keys;
    for (uint64_t i = 0; i < 400; ++i) keys.push_back(MixKey(i));
    return keys;
  }

  void Drain() {
    disk_full_ = false;
    // The last failure is reported until the next write has worked.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    absl::Status drained;
    do {
      drained = queue_->Drain(std::chrono::seconds(20));
    } while (!drained.ok() && std::chrono::steady_clock::now() < end);
    ASSERT_OK(drained);
  }

  void Flush() {
    Drain();
    ASSERT_OK(store_->Flush());
    durable_ = model_;
  }

  void Walk() {
    Drain();
    const auto range = tier_->Scan();
    ASSERT_OK(range.status());
    RowBlock rows;
    ASSERT_OK((*range)->Next(1000, &rows));
    ASSERT_EQ(rows.size(), static_cast<int64_t>(model_.size()));
    for (const Key key : rows.keys) ASSERT_TRUE(model_.contains(key));
  }

  void Restart() {
    Flush();
    ASSERT_OK(store_->Close());
    Stop();
    Start();
    ASSERT_TRUE(store_->was_closed());
  }

  // The store has no log: what was not flushed is lost, all of it, with its counts.
  void Crash() {
    Stop();
    disk_full_ = false;
    Start();
    ASSERT_FALSE(store_->was_closed());
    model_ = durable_;
    ExpectSame(AllKeys(), model_);
  }

  void Step() {
    const uint64_t choice = random_() % 100;
    if (choice < 45) {
      Upsert();
    } else if (choice < 60) {
      Remove();
    } else if (choice < 85) {
      ExpectSame(SomeKeys(), model_);
    } else if (choice < 92) {
      disk_full_ = !disk_full_;
    } else if (choice < 95) {
      Flush();
    } else if (choice < 97) {
      Walk();
    } else if (choice < 98) {
      Restart();
    } else if (choice < 99) {
      Crash();
    }
    ASSERT_EQ(tier_->Size().rows, static_cast<int64_t>(model_.size()));
  }

  TemporaryDirectory directory_;
  std::mt19937_64 random_;
  std::atomic<bool> disk_full_{false};
  uint64_t version_ = 0;
  Rows model_;
  Rows durable_;
  std::unique_ptr<ColdStore> store_;
  std::unique_ptr<WriteBehind> queue_;
  std::unique_ptr<RocksdbTier> tier_;
};

TEST_P(RocksdbTierModel, IsAMapOfRows) {
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()) + ", step " + std::to_string(i));
    Step();
    if (::testing::Test::HasFatalFailure()) return;
  }
  Restart();
  ExpectSame(AllKeys(), model_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RocksdbTierModel, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace hotrow::testing
