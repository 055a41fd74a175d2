#include "kernels/row_store/slot_index.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "kernels/row_store/row_store_ops.h"
#include "kernels/row_store/set_resize.h"
#include "kernels/space/tile.h"
#include "tests/conformance/row_values.h"

namespace hotrow::testing {
namespace {

// The arrays of a view, in plain vectors.
class Arrays {
 public:
  Arrays(int64_t capacity_sets, int slots_per_set)
      : digests_(static_cast<size_t>(capacity_sets * slots_per_set)),
        keys_(digests_.size()),
        scores_(digests_.size()),
        pins_(static_cast<size_t>(capacity_sets)),
        records_(digests_.size()) {
    view.digests = digests_.data();
    view.keys = keys_.data();
    view.scores = scores_.data();
    view.pins = pins_.data();
    view.records = reinterpret_cast<std::byte*>(records_.data());
    view.row_bytes = sizeof(RecordWord);
    view.table_salt = 0xabcdef;
    view.slots_per_set = slots_per_set;
    view.SetCount(1);
  }

  template <typename Tile>
  Slot Find(const Tile& tile, Key key) const {
    Probe probe;
    StartProbe(tile, view, key, &probe);
    MatchProbe(tile, view, &probe);
    return FinishProbe(view, probe, key);
  }

  template <typename Tile>
  Slot Put(const Tile& tile, Key key) {
    const Candidates candidates = view.CandidatesOf(key);
    Slot slot = EmptySlot(tile, view, candidates);
    if (slot == kNoSlot) slot = DisplaceOne(tile, view, candidates);
    if (slot != kNoSlot) Occupy(tile, view, slot, key, candidates.digest);
    return slot;
  }

  SlotIndexView view;

 private:
  std::vector<uint8_t> digests_;
  std::vector<Key> keys_;
  std::vector<uint32_t> scores_;
  std::vector<uint64_t> pins_;
  std::vector<RecordWord> records_;
};

TEST(SlotIndex, ASetNumberIsTakenFromTheLowBitsOfTheHash) {
  SlotIndexView view;
  for (const int64_t sets : {1, 2, 3, 4, 5, 31, 32, 33, 1000}) {
    view.SetCount(sets);
    int64_t power = 1;
    while (power * 2 <= sets) power *= 2;
    for (uint64_t hash = 0; hash < 5000; ++hash) {
      const auto wide = static_cast<int64_t>(hash) % (power * 2);
      ASSERT_EQ(view.SetOf(hash), wide < sets ? wide : static_cast<int64_t>(hash) % power);
      ASSERT_EQ(view.SetOf(hash), view.SetOf(hash | uint64_t{1} << 60));
    }
  }
}

TEST(SlotIndex, ANewSetTakesKeysFromItsBuddyOnly) {
  SlotIndexView before;
  for (int64_t sets = 1; sets < 70; ++sets) {
    before.SetCount(sets);
    SlotIndexView after = before;
    after.SetCount(sets + 1);
    for (uint64_t hash = 0; hash < 300; ++hash) {
      if (after.SetOf(hash) == before.SetOf(hash)) continue;
      ASSERT_EQ(after.SetOf(hash), sets);
      ASSERT_EQ(before.SetOf(hash), BuddyOf(sets));
    }
  }
}

TEST(SlotIndex, NoKeyHasTheEmptyDigest) {
  SlotIndexView view;
  view.SetCount(64);
  std::map<uint8_t, int> counts;
  for (const Key key : Keys(0, 51200)) ++counts[view.CandidatesOf(key).digest];
  EXPECT_EQ(counts.count(kEmptyDigest), 0U);
  EXPECT_EQ(counts.size(), 255U);
  for (const auto& [digest, count] : counts) EXPECT_LT(count, digest == 1 ? 550 : 300);
}

TEST(SlotIndex, SlotsBeyondTwoToThe31AreAddressed) {
  SlotIndexView view;
  view.slots_per_set = 32;
  const int64_t sets = (int64_t{1} << 32) + 12345;
  view.SetCount(sets);
  EXPECT_EQ(view.SetOf(static_cast<uint64_t>(sets) - 1), sets - 1);
  EXPECT_EQ(view.SetOf(static_cast<uint64_t>(sets)), 12345);
  EXPECT_EQ(view.FirstSlot(sets - 1), (sets - 1) * 32);
  EXPECT_EQ(view.SetOfSlot((sets - 1) * 32 + 31), sets - 1);
}

TEST(SlotIndex, FindsAKeyInAFullSet) {
  for (const int slots_per_set : {4, 32, 64}) {
    Arrays arrays(1, slots_per_set);
    const HostTile<1> tile;
    const std::vector<Key> keys = Keys(0, slots_per_set);
    for (const Key key : keys) EXPECT_NE(arrays.Put(tile, key), kNoSlot);
    EXPECT_EQ(arrays.Put(tile, Keys(1000, 1)[0]), kNoSlot);
    for (int i = 0; i < slots_per_set; ++i) EXPECT_EQ(arrays.Find(tile, keys[i]), i);
    EXPECT_EQ(arrays.Find(tile, Keys(1000, 1)[0]), kNoSlot);
  }
}

TEST(SlotIndex, TellsKeysWithOneDigestApart) {
  Arrays arrays(1, 32);
  const HostTile<1> tile;
  std::vector<Key> equal;
  const uint8_t digest = arrays.view.CandidatesOf(5).digest;
  for (Key key = 0; equal.size() < 33; ++key) {
    if (arrays.view.CandidatesOf(key).digest == digest) equal.push_back(key);
  }
  for (size_t i = 0; i < 32; ++i) ASSERT_NE(arrays.Put(tile, equal[i]), kNoSlot);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(arrays.Find(tile, equal[i]), static_cast<Slot>(i));
  EXPECT_EQ(arrays.Find(tile, equal[32]), kNoSlot);
}

TEST(SlotIndex, ANewKeyGoesToTheEmptierSet) {
  Arrays arrays(64, 32);
  arrays.view.SetCount(64);
  const HostTile<1> tile;
  for (const Key key : Keys(0, 1800)) {
    const Candidates candidates = arrays.view.CandidatesOf(key);
    const int first = CountBits(arrays.view.Occupied(tile, candidates.first));
    const int second = CountBits(arrays.view.Occupied(tile, candidates.second));
    const int64_t set = arrays.view.SetOfSlot(arrays.Put(tile, key));
    ASSERT_EQ(set, first <= second ? candidates.first : candidates.second);
  }
}

TEST(SlotIndex, ADisplacementMovesOneUnpinnedRowWithScoreAndRecord) {
  Arrays arrays(16, 4);
  arrays.view.SetCount(16);
  const HostTile<1> tile;
  std::vector<Key> stored;
  int displaced = 0;
  for (const Key key : Keys(0, 200)) {
    const bool full = EmptySlot(tile, arrays.view, arrays.view.CandidatesOf(key)) == kNoSlot;
    const Slot slot = arrays.Put(tile, key);
    if (slot == kNoSlot) continue;
    displaced += full ? 1 : 0;
    stored.push_back(key);
    arrays.view.scores[slot] = static_cast<uint32_t>(key);
    *reinterpret_cast<uint64_t*>(arrays.view.record(slot)) = key;
    for (const Key other : stored) {
      const Slot found = arrays.Find(tile, other);
      ASSERT_NE(found, kNoSlot);
      ASSERT_EQ(arrays.view.scores[found], static_cast<uint32_t>(other));
      ASSERT_EQ(*reinterpret_cast<uint64_t*>(arrays.view.record(found)), other);
    }
  }
  EXPECT_GT(displaced, 0);
}

TEST(SlotIndex, PinnedRowsAreNeitherMovedNorChosen) {
  Arrays arrays(8, 32);
  arrays.view.SetCount(8);
  const HostTile<1> tile;
  // Fill set by set until one pair is full while other sets have room.
  const Key wanted = Keys(5000, 1)[0];
  const Candidates candidates = arrays.view.CandidatesOf(wanted);
  ASSERT_NE(candidates.first, candidates.second);
  for (int64_t i = 0; EmptySlot(tile, arrays.view, candidates) != kNoSlot; ++i) {
    ASSERT_LT(i, 5000);
    const Key key = Keys(i, 1)[0];
    const Candidates own = arrays.view.CandidatesOf(key);
    for (const int64_t set : {own.first, own.second}) {
      const uint64_t empty = arrays.view.Empty(tile, set);
      if ((set != candidates.first && set != candidates.second) || empty == 0) continue;
      Occupy(tile, arrays.view, arrays.view.FirstSlot(set) + LowestBit(empty), key, own.digest);
      break;
    }
  }
  arrays.view.pins[candidates.first] = ~uint64_t{0};
  arrays.view.pins[candidates.second] = ~uint64_t{0};
  EXPECT_EQ(DisplaceOne(tile, arrays.view, candidates), kNoSlot);
  EXPECT_EQ(LowestScoreSlot(tile, arrays.view, candidates), kNoSlot);
  arrays.view.pins[candidates.second] &= ~uint64_t{1 << 7};
  EXPECT_EQ(LowestScoreSlot(tile, arrays.view, candidates),
            arrays.view.FirstSlot(candidates.second) + 7);
  arrays.view.pins[candidates.second] = 0;
  EXPECT_NE(DisplaceOne(tile, arrays.view, candidates), kNoSlot);
}

// Grows and shrinks an index by all widths of tile: the same rows in the same slots.
template <int W>
std::vector<Slot> GrowAndShrink(int slots_per_set) {
  const HostTile<W> tile;
  Arrays arrays(128, slots_per_set);
  const std::vector<Key> keys = Keys(0, 60 * slots_per_set);
  std::vector<Key> stored;
  std::vector<Slot> slots;
  for (const Key key : keys) {
    if (static_cast<int64_t>(stored.size() * 100) > arrays.view.sets * slots_per_set * 70) {
      SplitIntoNewSet(tile, &arrays.view);
    }
    if (arrays.Put(tile, key) != kNoSlot) stored.push_back(key);
  }
  EXPECT_GT(stored.size(), keys.size() * 9 / 10);
  for (const Key key : stored) {
    slots.push_back(arrays.Find(tile, key));
    EXPECT_NE(slots.back(), kNoSlot);
  }
  while (arrays.view.sets > 1 && MergeLastSet(tile, &arrays.view)) {
    for (const Key key : stored) {
      slots.push_back(arrays.Find(tile, key));
      EXPECT_NE(slots.back(), kNoSlot);
      EXPECT_LT(slots.back(), arrays.view.sets * slots_per_set);
    }
  }
  EXPECT_GT(static_cast<double>(stored.size()), 0.7 * arrays.view.sets * slots_per_set);
  return slots;
}

TEST(SlotIndex, KeepsEveryRowThroughSplitsAndMergesWithAnyTileWidth) {
  for (const int slots_per_set : {4, 32, 64}) {
    const std::vector<Slot> expected = GrowAndShrink<1>(slots_per_set);
    EXPECT_EQ(GrowAndShrink<8>(slots_per_set), expected);
    EXPECT_EQ(GrowAndShrink<32>(slots_per_set), expected);
  }
}

}  // namespace
}  // namespace hotrow::testing
