// What every row store promises, whatever its space. An implementation instantiates the suite with
// a store under test that offers
//
//   static Store Create(const RowStoreOptions&, MemoryBudget&)   with kSlotsPerSet slots per set
//   Find, FindOrClaim, Erase, Scan, SetScores, CopyWeights, rows, slots, allocated_bytes
//   Write(slot, bytes), Read(slot)                              a whole record, in host memory
//
// See tests/kernels/row_store_conformance_test.cc for the host's.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "kernels/row_store/row_store.h"
#include "tests/conformance/row_values.h"

namespace hotrow::testing {

inline constexpr int64_t kDim = 5;  // rows that end off every power of two
inline constexpr int64_t kStateColumns = 3;

template <typename Store>
class RowStoreConformance : public ::testing::Test {
 protected:
  static RowStoreOptions Options() {
    RowStoreOptions options;
    options.layout = RowLayout::Of(kDim, kStateColumns);
    options.table_salt = 0x1234567890abcdefULL;
    options.slots_per_set = Store::kSlotsPerSet;
    return options;
  }

  // Claims `keys`, expects a slot for each, and fills the created records.
  static std::vector<Slot> Put(Store& store, std::span<const Key> keys) {
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    RowBlock evicted;
    const ClaimCounts counts = store.FindOrClaim(keys, slots, created, &evicted);
    EXPECT_EQ(counts.refused, 0);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slots[i] != kNoSlot && created[i] != 0)
        store.Write(slots[i], RecordOf(Options().layout, keys[i]));
    }
    return slots;
  }

  static void ExpectHolds(const Store& store, std::span<const Key> keys) {
    std::vector<Slot> slots(keys.size());
    store.Find(keys, slots);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_NE(slots[i], kNoSlot) << "key " << keys[i];
      ASSERT_EQ(store.Read(slots[i]), RecordOf(Options().layout, keys[i])) << "key " << keys[i];
    }
  }

  static void ExpectLacks(const Store& store, std::span<const Key> keys) {
    std::vector<Slot> slots(keys.size());
    store.Find(keys, slots);
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(slots[i], kNoSlot) << "key " << keys[i];
  }

  MemoryBudget budget_{int64_t{1} << 30};
};
TYPED_TEST_SUITE_P(RowStoreConformance);

TYPED_TEST_P(RowStoreConformance, FindsNothingInANewStore) {
  const auto store = TypeParam::Create(this->Options(), this->budget_);
  this->ExpectLacks(store, SpecialKeys());
  EXPECT_EQ(store.rows(), 0);
  EXPECT_LT(store.allocated_bytes(), int64_t{1} << 20);
  EXPECT_EQ(store.allocated_bytes(), this->budget_.used_bytes());
}

TYPED_TEST_P(RowStoreConformance, TakesEveryBitPatternAsAKey) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  for (const Key key : SpecialKeys()) {
    this->ExpectLacks(store, std::vector<Key>{key});
    this->Put(store, std::vector<Key>{key});
  }
  this->ExpectHolds(store, SpecialKeys());
  EXPECT_EQ(store.rows(), static_cast<int64_t>(SpecialKeys().size()));
  for (const Key key : SpecialKeys()) {
    EXPECT_EQ(store.Erase(std::vector<Key>{key}), 1);
    this->ExpectLacks(store, std::vector<Key>{key});
  }
  EXPECT_EQ(store.rows(), 0);
}

TYPED_TEST_P(RowStoreConformance, KeepsEveryRowWhileItGrows) {
  for (const int64_t count : {0, 1, 31, 32, 33, 20000}) {
    auto store = TypeParam::Create(this->Options(), this->budget_);
    std::vector<Key> all;
    for (int64_t begin = 0; begin < count; begin += 700) {
      const std::vector<Key> batch = Keys(begin, std::min<int64_t>(700, count - begin));
      this->Put(store, batch);
      all.insert(all.end(), batch.begin(), batch.end());
      ASSERT_EQ(store.rows(), static_cast<int64_t>(all.size()));
    }
    this->ExpectHolds(store, all);
    EXPECT_GE(store.slots(), count);
    EXPECT_EQ(store.allocated_bytes(), this->budget_.used_bytes());
  }
  EXPECT_EQ(this->budget_.used_bytes(), 0);
}

TYPED_TEST_P(RowStoreConformance, FindsTheRowsItCreated) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  const std::vector<Key> keys = Keys(0, 3000);
  this->Put(store, keys);
  std::vector<Slot> slots(keys.size());
  std::vector<uint8_t> created(keys.size(), 7);
  const ClaimCounts counts = store.FindOrClaim(keys, slots, created, nullptr);
  EXPECT_EQ(counts.found, 3000);
  EXPECT_EQ(counts.created + counts.refused + counts.evicted, 0);
  EXPECT_EQ(std::count(created.begin(), created.end(), 0), 3000);
  EXPECT_EQ(std::set<Slot>(slots.begin(), slots.end()).size(), keys.size());
}

TYPED_TEST_P(RowStoreConformance, CreatesRecordsOfZeroBytesInReusedSlots) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  const int64_t row_bytes = this->Options().layout.row_bytes;
  const std::vector<std::byte> zeros(static_cast<size_t>(row_bytes));
  for (int64_t round = 0; round < 4; ++round) {
    const std::vector<Key> keys = Keys(round * 500, 500);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    store.FindOrClaim(keys, slots, created, nullptr);
    for (const Slot slot : slots) {
      ASSERT_EQ(store.Read(slot), zeros);
      store.Write(slot, std::vector<std::byte>(static_cast<size_t>(row_bytes), std::byte{0xab}));
    }
    EXPECT_EQ(store.Erase(keys), 500);
  }
}

TYPED_TEST_P(RowStoreConformance, ErasesAndTakesKeysBack) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  const std::vector<Key> stay = Keys(0, 1000);
  const std::vector<Key> leave = Keys(1000, 1000);
  this->Put(store, stay);
  for (int round = 0; round < 3; ++round) {
    this->Put(store, leave);
    EXPECT_EQ(store.Erase(leave), 1000);
    EXPECT_EQ(store.Erase(leave), 0);
    this->ExpectLacks(store, leave);
    this->ExpectHolds(store, stay);
  }
  EXPECT_EQ(store.rows(), 1000);
}

TYPED_TEST_P(RowStoreConformance, ErasesARepeatedKeyOnce) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  this->Put(store, Keys(0, 10));
  EXPECT_EQ(store.Erase(std::vector<Key>{Keys(3, 1)[0], Keys(3, 1)[0], Keys(11, 1)[0]}), 1);
  EXPECT_EQ(store.rows(), 9);
}

TYPED_TEST_P(RowStoreConformance, GivesMemoryBackWhenRowsLeave) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  const int64_t empty_bytes = store.allocated_bytes();
  const std::vector<Key> keys = Keys(0, 50000);
  this->Put(store, keys);
  const int64_t full_bytes = store.allocated_bytes();
  const std::span<const Key> all(keys);
  for (size_t begin = 0; begin < 45000; begin += 1000) {
    EXPECT_EQ(store.Erase(all.subspan(begin, 1000)), 1000);
  }
  EXPECT_LT(store.allocated_bytes(), full_bytes / 4);
  this->ExpectHolds(store, all.subspan(45000));
  this->ExpectLacks(store, all.first(45000));
  EXPECT_EQ(store.Erase(all), 5000);
  EXPECT_LE(store.allocated_bytes(), 4 * empty_bytes);
  EXPECT_EQ(store.allocated_bytes(), this->budget_.used_bytes());
  this->Put(store, all);
  this->ExpectHolds(store, all);
}

TYPED_TEST_P(RowStoreConformance, ReportsTheKeysThatDoNotFit) {
  RowStoreOptions options = this->Options();
  options.max_slots = 256;
  auto store = TypeParam::Create(options, this->budget_);
  const std::vector<Key> keys = Keys(0, 1000);
  std::vector<Slot> slots(keys.size());
  std::vector<uint8_t> created(keys.size());
  const ClaimCounts counts = store.FindOrClaim(keys, slots, created, nullptr);
  EXPECT_EQ(counts.created, std::count(created.begin(), created.end(), 1));
  EXPECT_EQ(counts.refused, std::count(slots.begin(), slots.end(), kNoSlot));
  EXPECT_EQ(counts.created + counts.refused, 1000);
  EXPECT_GE(counts.created, 230);
  EXPECT_EQ(store.rows(), counts.created);
  EXPECT_LE(store.slots(), 256);
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(created[i] != 0, slots[i] != kNoSlot);
}

TYPED_TEST_P(RowStoreConformance, ABatchNeverEvictsItsOwnKeys) {
  RowStoreOptions options = this->Options();
  options.max_slots = 256;
  options.full_policy = FullPolicy::kEvictLowestScore;
  auto store = TypeParam::Create(options, this->budget_);
  for (int64_t round = 0; round < 6; ++round) {
    // Half of the keys are known from the last round, so found and claimed slots mix.
    const std::vector<Key> keys = Keys(round * 500, 1000);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    RowBlock evicted;
    const ClaimCounts counts = store.FindOrClaim(keys, slots, created, &evicted);
    EXPECT_EQ(counts.found + counts.created + counts.refused, 1000);
    EXPECT_EQ(counts.evicted, static_cast<int64_t>(evicted.keys.size()));
    const std::set<Key> own(keys.begin(), keys.end());
    for (const Key key : evicted.keys) ASSERT_EQ(own.count(key), 0U) << "round " << round;
    std::vector<Slot> found(keys.size());
    store.Find(keys, found);
    ASSERT_EQ(found, slots) << "round " << round;
    EXPECT_GT(counts.refused, 0);
  }
}

TYPED_TEST_P(RowStoreConformance, EvictsCompleteRecordsOfTheLowestScore) {
  RowStoreOptions options = this->Options();
  options.max_slots = 32 * TypeParam::kSlotsPerSet;
  options.full_policy = FullPolicy::kEvictLowestScore;
  auto store = TypeParam::Create(options, this->budget_);
  // A first half that stays warm and a second that may go.
  const int64_t half = options.max_slots / 2;
  const std::vector<Key> warm = Keys(0, half);
  store.SetScores(this->Put(store, warm), 9);
  int64_t evicted_rows = 0;
  for (int64_t begin = half; begin < half * 20; begin += 5) {
    const std::vector<Key> keys = Keys(begin, 5);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    RowBlock evicted;
    store.FindOrClaim(keys, slots, created, &evicted);
    for (size_t i = 0; i < keys.size(); ++i) {
      store.Write(slots[i], RecordOf(options.layout, keys[i]));
    }
    store.SetScores(slots, 3);
    const auto row_bytes = static_cast<size_t>(options.layout.row_bytes);
    ASSERT_EQ(evicted.records.size(), evicted.keys.size() * row_bytes);
    for (size_t i = 0; i < evicted.keys.size(); ++i) {
      const std::byte* const record = evicted.records.data() + i * row_bytes;
      ASSERT_EQ(std::vector<std::byte>(record, record + row_bytes),
                RecordOf(options.layout, evicted.keys[i]));
    }
    evicted_rows += static_cast<int64_t>(evicted.keys.size());
    this->ExpectLacks(store, evicted.keys);
  }
  EXPECT_GT(evicted_rows, 0);
  std::vector<Slot> slots(warm.size());
  store.Find(warm, slots);
  const auto lost = std::count(slots.begin(), slots.end(), kNoSlot);
  // Only a pair of sets full of warm rows may lose one.
  EXPECT_LE(lost, half / 8);
}

TYPED_TEST_P(RowStoreConformance, ReusedSlotsDoNotInheritAScore) {
  RowStoreOptions options = this->Options();
  options.max_slots = TypeParam::kSlotsPerSet;  // one set: the eviction order is total
  options.full_policy = FullPolicy::kEvictLowestScore;
  auto store = TypeParam::Create(options, this->budget_);
  const std::vector<Key> first = Keys(0, TypeParam::kSlotsPerSet);
  store.SetScores(this->Put(store, first), 1000);
  EXPECT_EQ(store.Erase(std::vector<Key>{first[1]}), 1);
  const std::vector<Key> reused = Keys(500, 1);
  this->Put(store, reused);  // score 0
  std::vector<Slot> slots(1);
  std::vector<uint8_t> created(1);
  RowBlock evicted;
  store.FindOrClaim(Keys(900, 1), slots, created, &evicted);
  EXPECT_EQ(evicted.keys, reused);
}

TYPED_TEST_P(RowStoreConformance, ScanVisitsEveryRowOnce) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  for (const int64_t count : {0, 1, 33, 5000}) {
    const std::vector<Key> expected = Keys(0, count);
    this->Put(store, expected);
    for (const int64_t limit : {1, 7, 6000}) {
      std::vector<Key> seen;
      std::vector<Key> keys;
      std::vector<Slot> slots;
      for (int64_t cursor = 0; cursor >= 0;) {
        store.Scan(&cursor, limit, &keys, &slots);
        ASSERT_LE(static_cast<int64_t>(keys.size()), limit);
        std::vector<Slot> found(keys.size());
        store.Find(keys, found);
        ASSERT_EQ(found, slots);
        seen.insert(seen.end(), keys.begin(), keys.end());
      }
      std::vector<Key> sorted = expected;
      std::sort(sorted.begin(), sorted.end());
      std::sort(seen.begin(), seen.end());
      ASSERT_EQ(seen, sorted);
    }
  }
}

TYPED_TEST_P(RowStoreConformance, CopiesWeightsToAnyAddress) {
  auto store = TypeParam::Create(this->Options(), this->budget_);
  for (const int64_t count : {0, 1, 31, 32, 33, 2000}) {
    const std::vector<Key> keys = Keys(0, count);
    std::vector<Slot> slots = this->Put(store, keys);
    for (size_t i = 0; i < slots.size(); i += 3) slots[i] = kNoSlot;  // skipped
    const size_t stride = kDim * sizeof(float) + 3;
    std::vector<std::byte> buffer(keys.size() * stride + 1, std::byte{0xcd});
    std::vector<RowPointer> rows(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) rows[i] = AsRow(buffer.data() + 1 + i * stride);
    store.CopyWeights(slots, RowsView{rows, kDim});
    for (size_t i = 0; i < keys.size(); ++i) {
      for (int64_t column = 0; column < kDim; ++column) {
        uint32_t bits;
        std::memcpy(&bits, rows[i] + column, sizeof(bits));
        const float value = ValueOf(keys[i], column);
        uint32_t expected;
        std::memcpy(&expected, &value, sizeof(expected));
        ASSERT_EQ(bits, i % 3 == 0 ? 0xcdcdcdcdU : expected);
      }
      ASSERT_EQ(buffer[(i + 1) * stride], std::byte{0xcd});  // nothing beyond the row
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(RowStoreConformance, FindsNothingInANewStore,
                            TakesEveryBitPatternAsAKey, KeepsEveryRowWhileItGrows,
                            FindsTheRowsItCreated, CreatesRecordsOfZeroBytesInReusedSlots,
                            ErasesAndTakesKeysBack, ErasesARepeatedKeyOnce,
                            GivesMemoryBackWhenRowsLeave, ReportsTheKeysThatDoNotFit,
                            ABatchNeverEvictsItsOwnKeys, EvictsCompleteRecordsOfTheLowestScore,
                            ReusedSlotsDoNotInheritAScore, ScanVisitsEveryRowOnce,
                            CopiesWeightsToAnyAddress);

}  // namespace hotrow::testing
