#include "tests/conformance/tier_conformance.h"

#include "server/tiers/rocksdb_tier.h"
#include "server/tiers/row_store_tier.h"
#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

template <RowStoreTier::Place kPlace, int kSlotsPerSet>
class MemoryPlace {
 public:
  static RowLayout layout() { return TestLayout(); }
  bool keeps_copies() const { return false; }
  Tier& tier() { return tier_; }

 private:
  std::unique_ptr<RowStore> MakeStore() {
    RowStoreOptions options;
    options.layout = layout();
    options.table_salt = 99;
    options.slots_per_set = kSlotsPerSet;
    options.full_policy = kPlace == RowStoreTier::Place::kLowest ? FullPolicy::kRefuse
                                                                 : FullPolicy::kEvictLowestScore;
    return *RowStore::Create(options, budget_);
  }

  MemoryBudget budget_{int64_t{1} << 24};
  RowStoreTier tier_{"warm", MakeStore(), kPlace};
};

class ColdPlace {
 public:
  static RowLayout layout() { return TestLayout(); }
  bool keeps_copies() const { return true; }
  Tier& tier() { return tier_; }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<ColdStore> store_ = OpenStore(TestColdOptions(directory_.File("rows")));
  WriteBehind queue_{*store_, {.max_bytes = 1 << 20, .chunk_bytes = 4096}};
  RocksdbTier tier_{*store_,
                    queue_,
                    {.table = TestTable(),
                     .layout = TestLayout(),
                     .partition_bits = kPartitionBits,
                     .partitions = AllPartitions()}};
};

using Places = ::testing::Types<MemoryPlace<RowStoreTier::Place::kAboveOthers, 32>,
                                MemoryPlace<RowStoreTier::Place::kLowest, 32>,
                                MemoryPlace<RowStoreTier::Place::kLowest, 4>, ColdPlace>;
INSTANTIATE_TYPED_TEST_SUITE_P(Host, TierConformance, Places);

TEST(RowStoreTier, TheLowestKeepsEveryRowAndTakesNoNewOnesWhenItIsFull) {
  MemoryBudget budget(60'000);
  RowStoreOptions options;
  options.layout = TestLayout();
  options.slots_per_set = 4;
  RowStoreTier tier("warm", *RowStore::Create(options, budget), RowStoreTier::Place::kLowest);
  const std::vector<std::byte> record = RecordOf(TestLayout(), 1);
  const std::byte* const source = record.data();
  const uint32_t score = 1;
  RowBlock displaced;
  std::vector<Key> keys;
  for (const Key key : Keys(0, 5000)) {
    if (!tier.MayGrow().ok()) break;
    tier.Upsert({{&key, 1}, {&source, 1}, {&score, 1}}, &displaced);
    keys.push_back(key);
  }
  ASSERT_LT(keys.size(), 5000);
  EXPECT_EQ(KindOf(tier.MayGrow()), wire::ErrorKind::kCapacityFull);
  // Rows that only change their tier still find a place, if need be beside the store.
  for (const Key key : Keys(10'000, 400)) {
    tier.Upsert({{&key, 1}, {&source, 1}, {&score, 1}}, &displaced);
    keys.push_back(key);
  }
  EXPECT_GT(tier.rows_beside(), 0);
  EXPECT_EQ(displaced.size(), 0);
  EXPECT_EQ(tier.Size().rows, static_cast<int64_t>(keys.size()));
  const FoundRows rows = FindRows(keys, [&](const RowTargets& targets, std::span<uint8_t> found) {
    return tier.Find(targets, Lookup::kMove, found);
  });
  ASSERT_OK(rows.status);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(rows.found[i], 1);
    ASSERT_EQ(rows.records[i], record);
  }
  EXPECT_EQ(tier.Size().rows, 0);
}

}  // namespace
}  // namespace hotrow::testing
