// Random operations on a TierStack of every make, against a map: what is read, created, removed,
// counted and walked is the same, bit for bit, whatever tiers there are, over restarts too.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "server/tiers/rocksdb_tier.h"
#include "server/tiers/tier_stack.h"
#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

struct Make {
  const char* name;
  int64_t hot_bytes;
  int64_t warm_bytes;  // 0: no warm tier
  bool cold;
  int slots_per_set;
  EvictionKind eviction;
};

std::ostream& operator<<(std::ostream& out, const Make& make) { return out << make.name; }

constexpr int64_t kLarge = int64_t{1} << 26;

class TierStackModel : public ::testing::TestWithParam<Make> {
 protected:
  using Weights = std::vector<float>;
  struct Row {
    Weights weights;
    uint64_t lsn = 0;
    uint32_t step_count = 0;
  };

  TierStackModel() { Start(); }

  RowLayout layout() const { return TestLayout(); }

  std::unique_ptr<RowStore> MakeStore(MemoryBudget& budget, bool lowest) const {
    RowStoreOptions options;
    options.layout = layout();
    options.table_salt = TestTable().salt;
    options.slots_per_set = GetParam().slots_per_set;
    options.full_policy = lowest ? FullPolicy::kRefuse : FullPolicy::kEvictLowestScore;
    return *RowStore::Create(options, budget);
  }

  void Start() {
    const Make& make = GetParam();
    hot_budget_ = std::make_unique<MemoryBudget>(make.hot_bytes);
    warm_budget_ = std::make_unique<MemoryBudget>(make.warm_bytes);
    TierParts parts;
    parts.hot = MakeStore(*hot_budget_, make.warm_bytes == 0 && !make.cold);
    if (make.warm_bytes > 0) {
      const auto place =
          make.cold ? RowStoreTier::Place::kAboveOthers : RowStoreTier::Place::kLowest;
      parts.warm =
          std::make_unique<RowStoreTier>("warm", MakeStore(*warm_budget_, !make.cold), place);
    }
    if (make.cold) {
      store_ = OpenStore(TestColdOptions(directory_.File("rows")));
      queue_ = std::make_unique<WriteBehind>(
          *store_, WriteBehindOptions{.max_bytes = 40'000, .chunk_bytes = 4'000});
      parts.cold =
          std::make_unique<RocksdbTier>(*store_, *queue_,
                                        RocksdbTier::Options{.table = TestTable(),
                                                             .layout = layout(),
                                                             .partition_bits = kPartitionBits,
                                                             .partitions = AllPartitions()});
    }
    stack_ =
        std::make_unique<TierStack>(std::move(parts), ScorePolicy(make.eviction, 0.99), workspace_);
  }

  void Restart() {
    ASSERT_OK(stack_->WriteBackAll());
    ASSERT_OK(queue_->Drain(std::chrono::seconds(20)));
    ASSERT_OK(store_->Close());
    evictions_ += stack_->moves().evictions;
    promotions_ += stack_->moves().promotions;
    stack_.reset();
    queue_.reset();
    store_.reset();
    Start();
  }

  std::vector<Key> SomeKeys() {
    // Few keys often, many now and then: of a domain that no small tier holds.
    const int count = random_() % 10 == 0 ? 400 : 1 + static_cast<int>(random_() % 40);
    std::set<Key> keys;
    for (int i = 0; i < count; ++i) {
      const uint64_t range = random_() % 3 == 0 ? 1500 : 100;
      keys.insert(random_() % 50 == 0 ? SpecialKeys()[random_() % 7]
                                      : MixKey(1 + random_() % range));
    }
    std::vector<Key> order(keys.begin(), keys.end());
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  // What a push does: every row gets a value more, new rows start from their key's.
  void Push() {
    const auto keys = SomeKeys();
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    ++step_;
    stack_->Begin(static_cast<int64_t>(keys.size()), step_);
    ASSERT_OK(stack_->Resolve(keys, slots, created));
    if (random_() % 20 == 0) {
      stack_->Abandon(keys, slots, created);
      return;
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool known = model_.contains(keys[i]);
      if (slots[i] == kNoSlot) {
        ASSERT_FALSE(known) << "a known row was refused";
        ++refused_;
        continue;
      }
      ASSERT_EQ(created[i] != 0, !known) << "key " << keys[i];
      ChangeRow(keys[i], stack_->record(slots[i]), known);
    }
    stack_->Settle(keys, slots);
  }

  void ChangeRow(Key key, std::byte* record, bool known) {
    float* const weights = layout().weights(record);
    RowMeta* const meta = layout().meta(record);
    Row& row = model_[key];
    if (!known) {
      for (int64_t i = 0; i < layout().row_bytes; ++i) ASSERT_EQ(record[i], std::byte{0});
      row.weights.resize(layout().dim + layout().state_columns);
      for (size_t c = 0; c < row.weights.size(); ++c) row.weights[c] = ValueOf(key, c);
      std::copy(row.weights.begin(), row.weights.end(), weights);
    }
    ExpectRow(key, record);
    for (size_t c = 0; c < row.weights.size(); ++c) {
      row.weights[c] += static_cast<float>(step_ % 7 + c);
      weights[c] += static_cast<float>(step_ % 7 + c);
    }
    row.lsn = meta->lsn = step_;
    row.step_count = ++meta->step_count;
    meta->flags |= kRowDirty;
  }

  void ExpectRow(Key key, const std::byte* record) {
    const Row& row = model_.at(key);
    ASSERT_EQ(std::memcmp(record, row.weights.data(), row.weights.size() * sizeof(float)), 0)
        << "key " << key;
    RowMeta meta;
    std::memcpy(&meta, record + layout().meta_offset, sizeof(meta));
    ASSERT_EQ(meta.lsn, row.lsn);
    ASSERT_EQ(meta.step_count, row.step_count);
  }

  void Pull() {
    auto keys = SomeKeys();
    const auto repeated = keys;
    keys.insert(keys.end(), repeated.begin(), repeated.begin() + repeated.size() / 3);
    std::vector<Weights> rows(keys.size(), Weights(layout().dim, -99.0F));
    std::vector<RowPointer> targets;
    for (Weights& row : rows) targets.push_back(AsRow(row.data()));
    std::vector<size_t> unknown;
    const auto kind = random_() % 4 == 0 ? ReadKind::kReadOnly : ReadKind::kTraining;
    const TierMoves before = stack_->moves();
    stack_->Begin(static_cast<int64_t>(keys.size()), step_);
    ASSERT_OK(stack_->Read(keys, {targets, layout().dim}, kind, &unknown));
    if (kind == ReadKind::kReadOnly) {
      ASSERT_EQ(stack_->moves().promotions, before.promotions);
    }
    const std::set<size_t> missing(unknown.begin(), unknown.end());
    ASSERT_EQ(missing.size(), unknown.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto row = model_.find(keys[i]);
      ASSERT_EQ(missing.contains(i), row == model_.end()) << "key " << keys[i];
      if (row == model_.end()) continue;
      ASSERT_TRUE(std::equal(rows[i].begin(), rows[i].end(), row->second.weights.begin()));
    }
  }

  void Remove() {
    auto keys = SomeKeys();
    if (keys.size() > 20) keys.resize(20);
    std::vector<uint8_t> removed(keys.size());
    ASSERT_OK(stack_->Remove(keys, removed));
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(removed[i], model_.erase(keys[i])) << "key " << keys[i];
    }
  }

  // As a scan of a table does: the rows in memory, then those below that are not in the list.
  void Walk() {
    std::set<Key> seen;
    const auto listed = stack_->KeysInMemory();
    ASSERT_EQ(static_cast<int64_t>(listed.size()), stack_->rows_in_memory());
    auto below = stack_->ScanCold();
    ASSERT_OK(below.status());
    for (const Key key : listed) ASSERT_TRUE(seen.insert(key).second);
    const FoundRows rows = FindRows(listed, [&](const RowTargets& to, std::span<uint8_t> found) {
      return stack_->ReadRecords(to, found);
    });
    ASSERT_OK(rows.status);
    for (size_t i = 0; i < listed.size(); ++i) {
      ASSERT_EQ(rows.found[i], 1);
      ExpectRow(listed[i], rows.records[i].data());
    }
    if (*below != nullptr) {
      RowBlock block;
      ASSERT_OK((*below)->Next(1 << 20, &block));
      for (int64_t i = 0; i < block.size(); ++i) {
        if (!seen.insert(block.keys[i]).second) continue;
        ExpectRow(block.keys[i], block.record(i, layout().row_bytes));
      }
    }
    ASSERT_EQ(seen.size(), model_.size());
    for (const auto& [key, row] : model_) ASSERT_TRUE(seen.contains(key));
  }

  void ReadEverything() {
    std::vector<Key> keys;
    for (const auto& [key, row] : model_) keys.push_back(key);
    keys.push_back(MixKey(123'456'789));
    const FoundRows rows = FindRows(keys, [&](const RowTargets& to, std::span<uint8_t> found) {
      return stack_->ReadRecords(to, found);
    });
    ASSERT_OK(rows.status);
    ASSERT_EQ(rows.found.back(), 0);
    for (size_t i = 0; i + 1 < keys.size(); ++i) {
      ASSERT_EQ(rows.found[i], 1) << "key " << keys[i];
      ExpectRow(keys[i], rows.records[i].data());
    }
  }

  void Step() {
    const uint64_t choice = random_() % 100;
    if (choice < 45) {
      Push();
    } else if (choice < 85) {
      Pull();
    } else if (choice < 92) {
      Remove();
    } else if (choice < 94) {
      Walk();
    } else if (choice < 96) {
      int64_t cursor = 0;
      while (cursor != -1) ASSERT_OK(stack_->WriteBack(64, &cursor));
    } else if (choice < 97 && GetParam().cold) {
      Restart();
    }
    ASSERT_EQ(stack_->rows(), static_cast<int64_t>(model_.size()));
  }

  TemporaryDirectory directory_;
  std::mt19937_64 random_;
  uint64_t step_ = 0;
  int64_t refused_ = 0;
  uint64_t evictions_ = 0;  // of the stacks before this one
  uint64_t promotions_ = 0;
  std::map<Key, Row> model_;
  std::unique_ptr<MemoryBudget> hot_budget_;
  std::unique_ptr<MemoryBudget> warm_budget_;
  TierWorkspace workspace_;
  std::unique_ptr<ColdStore> store_;
  std::unique_ptr<WriteBehind> queue_;
  std::unique_ptr<TierStack> stack_;
};

TEST_P(TierStackModel, IsAMapOfRows) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    for (int i = 0; i < 400; ++i) {
      Step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    Walk();
    ReadEverything();
    if (::testing::Test::HasFatalFailure()) return;
  }
  const Make& make = GetParam();
  const bool small = make.hot_bytes < kLarge;
  const bool lower = make.cold || make.warm_bytes > 0;
  // What the make is there for has happened.
  const bool evicts = small && lower && make.eviction != EvictionKind::kNone;
  EXPECT_EQ(evictions_ + stack_->moves().evictions > 0, evicts);
  EXPECT_EQ(promotions_ + stack_->moves().promotions > 0, lower && (small || make.cold));
  const bool full = small && !make.cold && make.warm_bytes < kLarge;
  EXPECT_EQ(refused_ > 0, full || make.eviction == EvictionKind::kNone);
}

constexpr int64_t kSmall = 60'000;  // some hundred rows
constexpr int64_t kTiny = 40'000;   // the smallest that holds a set of each array

INSTANTIATE_TEST_SUITE_P(
    Makes, TierStackModel,
    ::testing::Values(Make{"HotAlone", kLarge, 0, false, 32, EvictionKind::kLru},
                      Make{"HotAloneAndFull", kSmall, 0, false, 4, EvictionKind::kLru},
                      Make{"HotAndWarm", kSmall, kSmall, false, 4, EvictionKind::kLru},
                      Make{"HotAndLargeWarm", kSmall, kLarge, false, 32, EvictionKind::kLfu},
                      Make{"LargeHotAndCold", kLarge, 0, true, 32, EvictionKind::kLru},
                      Make{"HotAndCold", kSmall, 0, true, 4, EvictionKind::kLru},
                      Make{"HotAndColdByUses", kSmall, 0, true, 32, EvictionKind::kLfu},
                      Make{"HotThatKeepsAndCold", kSmall, 0, true, 4, EvictionKind::kNone},
                      Make{"TinyHotAndCold", kTiny, 0, true, 4, EvictionKind::kTimeToLive},
                      Make{"AllThree", kSmall, kSmall, true, 4, EvictionKind::kLru},
                      Make{"AllThreeByUses", kTiny, kSmall, true, 32, EvictionKind::kLfu}),
    ::testing::PrintToStringParamName());

}  // namespace
}  // namespace hotrow::testing
