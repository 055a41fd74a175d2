// Linear hashing (Litwin 1980), one set at a time: a new set at the end takes its rows from one
// older set, its buddy; removing the last set gives its rows back to the buddy or to their other
// candidate sets.
//
//   buddy of set t = t without its highest bit:   1 -> 0   2 -> 0   3 -> 1   4 -> 0   5 -> 1 ...
//
// Invariant: sets beyond the last are empty.
//
// Thread safety: under the store's single writer, between batches (no slot is pinned).

#pragma once

#include <cstdint>

#include "kernels/base/bits.h"
#include "kernels/base/host_device.h"
#include "kernels/row_store/row_store_ops.h"
#include "kernels/row_store/slot_index.h"

namespace hotrow {

// set > 0.
HOTROW_HOST_DEVICE inline int64_t BuddyOf(int64_t set) {
  return set ^ (int64_t{1} << HighestBit(static_cast<uint64_t>(set)));
}

// Moves the rows that no longer belong to the buddy of `added` there: a set that `index` counts and
// that is empty yet. Which rows these are, and so the outcome, does not depend on the sets after
// `added` on its level: the sets between two powers of two may be filled in any order, or together.
template <typename Tile>
HOTROW_HOST_DEVICE void SplitInto(const Tile& tile, const SlotIndexView& index, int64_t added) {
  const int64_t buddy = BuddyOf(added);
  Slot to = index.FirstSlot(added);
  uint64_t rows = index.Occupied(tile, buddy);
  for (; rows != 0; rows &= rows - 1) {
    const Slot from = index.FirstSlot(buddy) + LowestBit(rows);
    const Candidates candidates = index.CandidatesOf(index.keys[from]);
    if (candidates.first == buddy || candidates.second == buddy) continue;
    MoveRow(tile, index, from, to++);
  }
}

// Adds one set, whose memory is committed.
template <typename Tile>
HOTROW_HOST_DEVICE void SplitIntoNewSet(const Tile& tile, SlotIndexView* index) {
  const int64_t added = index->sets;
  index->SetCount(added + 1);
  SplitInto(tile, *index, added);
}

// Moves rows among `rows` of set `last` to their candidate in `smaller` that is not `buddy`, where
// it has more than `room` free slots less those already spoken for. Returns the rows that stay.
template <typename Tile>
HOTROW_HOST_DEVICE uint64_t MoveToAlternates(const Tile& tile, const SlotIndexView& smaller,
                                             int64_t last, uint64_t rows, int room) {
  const int64_t buddy = BuddyOf(last);
  uint64_t stay = 0;
  for (; rows != 0; rows &= rows - 1) {
    const Slot from = smaller.FirstSlot(last) + LowestBit(rows);
    const int64_t other = smaller.AlternateOf(smaller.keys[from], buddy);
    const uint64_t empty = smaller.Empty(tile, other);
    const int kept = room - CountBits(stay) > 0 ? room - CountBits(stay) : 0;
    if (other == buddy || CountBits(empty) <= kept) {
      stay |= rows & -rows;
    } else {
      MoveRow(tile, smaller, from, smaller.FirstSlot(other) + LowestBit(empty));
    }
  }
  return stay;
}

// Removes the last of at least two sets. False when its rows do not fit elsewhere: the set then
// stays, and every row is where it can be found.
template <typename Tile>
HOTROW_HOST_DEVICE bool MergeLastSet(const Tile& tile, SlotIndexView* index) {
  const int64_t last = index->sets - 1;
  const int64_t buddy = BuddyOf(last);
  SlotIndexView smaller = *index;
  smaller.SetCount(last);
  const int room = CountBits(smaller.Empty(tile, buddy));
  // Evenly first, then wherever a slot is free. A row moved to its other candidate is found there
  // with and without the last set.
  uint64_t rows = MoveToAlternates(tile, smaller, last, smaller.Occupied(tile, last), room);
  if (CountBits(rows) > room) rows = MoveToAlternates(tile, smaller, last, rows, 0);
  uint64_t empty = smaller.Empty(tile, buddy);
  if (CountBits(rows) > CountBits(empty)) return false;
  for (; rows != 0; rows &= rows - 1, empty &= empty - 1) {
    MoveRow(tile, smaller, smaller.FirstSlot(last) + LowestBit(rows),
            smaller.FirstSlot(buddy) + LowestBit(empty));
  }
  *index = smaller;
  return true;
}

}  // namespace hotrow
