// How full a row store gets before it refuses, and that it stays right when it is full.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/conformance/row_values.h"
#include "tests/kernels/host_store.h"

namespace hotrow::testing {
namespace {

using Store = HostStore<32>;

RowStoreOptions SmallRows(int64_t max_slots) {
  RowStoreOptions options;
  options.layout = RowLayout::Of(1, 0);
  options.table_salt = 99;
  options.max_slots = max_slots;
  return options;
}

// Fills `store` in batches of `batch_keys` until a key is refused; the load just before.
double LoadAtFirstRefusal(Store& store, int64_t batch_keys) {
  for (int64_t begin = 0;; begin += batch_keys) {
    const std::vector<Key> keys = Keys(begin, batch_keys);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    store.FindOrClaim(keys, slots, created, nullptr);
    const auto refused = std::find(slots.begin(), slots.end(), kNoSlot);
    if (refused == slots.end()) continue;
    const int64_t stored = begin + (refused - slots.begin());
    return static_cast<double>(stored) / static_cast<double>(store.slots());
  }
}

// 2048 sets are 64 Ki slots; the others lie between powers of two, where some sets are asked for
// twice as often as the rest.
constexpr int64_t kSetCounts[] = {2048, 2049, 2500, 3071, 3072, 3500, 4095, 10007};

TEST(RowStoreLoad, FirstRefusalComesBeyondNinetyPercentOfTheSlots) {
  for (const int64_t sets : kSetCounts) {
    MemoryBudget budget(int64_t{1} << 30);
    Store store = Store::Create(SmallRows(sets * 32), budget);
    EXPECT_GE(LoadAtFirstRefusal(store, 1000), 0.90) << sets << " sets";
    EXPECT_EQ(store.slots(), sets * 32);
  }
}

TEST(RowStoreLoad, OneLargeBatchAlsoReachesNinetyPercent) {
  for (const int64_t sets : kSetCounts) {
    MemoryBudget budget(int64_t{1} << 30);
    Store store = Store::Create(SmallRows(sets * 32), budget);
    // Nothing of the batch may be moved, so only the choice of the emptier set helps.
    EXPECT_GE(LoadAtFirstRefusal(store, sets * 32), 0.90) << sets << " sets";
  }
}

TEST(RowStoreLoad, ABudgetIsUsedToNinetyPercentToo) {
  for (const int64_t megabytes : {3, 5, 8}) {
    MemoryBudget budget(megabytes << 20);
    Store store = Store::Create(SmallRows(int64_t{1} << 40), budget);
    EXPECT_GE(LoadAtFirstRefusal(store, 1000), 0.90) << megabytes << " MiB";
    EXPECT_GE(store.slots(), 60000);
    EXPECT_GE(static_cast<double>(store.slots() * 45),
              0.97 * static_cast<double>(budget.limit_bytes()));
    EXPECT_LE(budget.used_bytes(), budget.limit_bytes());
  }
}

TEST(RowStoreLoad, GrowsAtAboutEightyPercentWhileTheBudgetLasts) {
  MemoryBudget budget(int64_t{1} << 30);
  Store store = Store::Create(SmallRows(int64_t{1} << 40), budget);
  for (int64_t begin = 0; begin < 200000; begin += 500) {
    const std::vector<Key> keys = Keys(begin, 500);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    EXPECT_EQ(store.FindOrClaim(keys, slots, created, nullptr).created, 500);
    if (begin < 2000) continue;
    const double load = static_cast<double>(store.rows()) / static_cast<double>(store.slots());
    ASSERT_GE(load, 0.80) << "rows " << store.rows();
    ASSERT_LE(load, 0.85) << "rows " << store.rows();
  }
}

// Fills every slot, then checks that each row is found, that others are not, and that a freed slot
// is taken by a key of its sets.
TEST(RowStoreLoad, IsRightWithEverySlotTaken) {
  MemoryBudget budget(int64_t{1} << 30);
  Store store = Store::Create(SmallRows(5 * 32), budget);
  std::vector<Key> stored;
  for (int64_t i = 0; store.rows() < store.slots() || store.slots() < 5 * 32; ++i) {
    ASSERT_LT(i, 100000);
    const std::vector<Key> key = Keys(i, 1);
    std::vector<Slot> slot(1);
    std::vector<uint8_t> created(1);
    store.FindOrClaim(key, slot, created, nullptr);
    if (slot[0] == kNoSlot) continue;
    store.Write(slot[0], RecordOf(SmallRows(1).layout, key[0]));
    stored.push_back(key[0]);
  }
  ASSERT_EQ(store.rows(), 160);
  std::vector<Slot> slots(stored.size());
  store.Find(stored, slots);
  for (size_t i = 0; i < stored.size(); ++i) {
    ASSERT_NE(slots[i], kNoSlot);
    ASSERT_EQ(store.Read(slots[i]), RecordOf(SmallRows(1).layout, stored[i]));
  }
  std::vector<Slot> missing(100);
  store.Find(Keys(1000000, 100), missing);
  EXPECT_EQ(std::count(missing.begin(), missing.end(), kNoSlot), 100);
  for (const Key key : stored) {
    std::vector<Slot> slot(1);
    std::vector<uint8_t> created(1);
    EXPECT_EQ(store.Erase(std::vector<Key>{key}), 1);
    EXPECT_EQ(store.FindOrClaim(std::vector<Key>{key}, slot, created, nullptr).created, 1);
  }
  EXPECT_EQ(store.rows(), 160);
}

TEST(RowStoreLoad, AFullStoreEvictsOneRowPerNewKey) {
  MemoryBudget budget(int64_t{1} << 30);
  RowStoreOptions options = SmallRows(64 * 32);
  options.full_policy = FullPolicy::kEvictLowestScore;
  Store store = Store::Create(options, budget);
  int64_t evicted_rows = 0;
  for (int64_t begin = 0; begin < 100000; begin += 100) {
    const std::vector<Key> keys = Keys(begin, 100);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    RowBlock evicted;
    const ClaimCounts counts = store.FindOrClaim(keys, slots, created, &evicted);
    ASSERT_EQ(counts.refused, 0);
    evicted_rows += counts.evicted;
    ASSERT_EQ(store.rows() + evicted_rows, begin + 100);
  }
  EXPECT_GE(store.rows(), store.slots() * 9 / 10);
}

TEST(RowStoreLoad, TwoStoresShareOneBudget) {
  MemoryBudget budget(int64_t{8} << 20);
  Store first = Store::Create(SmallRows(int64_t{1} << 40), budget);
  Store second = Store::Create(SmallRows(int64_t{1} << 40), budget);
  LoadAtFirstRefusal(first, 1000);
  const int64_t second_slots = second.slots();
  LoadAtFirstRefusal(second, 10);
  EXPECT_LE(second.slots(), second_slots + 1024);  // the first has taken the memory
  std::vector<Key> keys;
  std::vector<Slot> slots;
  for (int64_t cursor = 0; cursor >= 0;) {
    first.Scan(&cursor, 1000, &keys, &slots);
    first.Erase(keys);
    cursor = first.rows() > 0 ? 0 : -1;
  }
  EXPECT_GE(LoadAtFirstRefusal(second, 1000), 0.90);
  EXPECT_GE(second.slots(), 100000);
}

TEST(RowStore, RefusesOptionsThatItCannotServe) {
  MemoryBudget budget(int64_t{1} << 30);
  const RowStoreOptions good = SmallRows(1000);
  const auto code = [&](RowStoreOptions options) {
    return RowStore::Create(options, budget).result().code();
  };
  EXPECT_EQ(code(good), Code::kOk);
  RowStoreOptions bad = good;
  bad.slots_per_set = 33;
  EXPECT_EQ(code(bad), Code::kInvalidArgument);
  bad = good;
  bad.max_slots = 31;
  EXPECT_EQ(code(bad), Code::kInvalidArgument);
  bad = good;
  bad.layout.row_bytes += 16;
  EXPECT_EQ(code(bad), Code::kInvalidArgument);
  bad = good;
  bad.layout = RowLayout::Of(0, 0);
  EXPECT_EQ(code(bad), Code::kInvalidArgument);
  EXPECT_EQ(budget.used_bytes(), 0);
  MemoryBudget tiny(1000);
  EXPECT_EQ(RowStore::Create(good, tiny).result().code(), Code::kResourceExhausted);
  EXPECT_EQ(tiny.used_bytes(), 0);
}

}  // namespace
}  // namespace hotrow::testing
