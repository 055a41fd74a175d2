// What a row store does to one key: take a slot, free a slot, lose a row. Bodies over a tile; the
// driver decides which of them run and in what batch order.
//
// A slot changes hands only through Occupy and Vacate, so a reused slot never shows its former row:
// Occupy clears score and record before the digest makes the slot visible.
//
// Thread safety: bodies that change a set need it alone, but for VacateOnce: others of a stage may
// empty slots of the same set.

#pragma once

#include <cstdint>

#include "kernels/base/atomic.h"
#include "kernels/base/bits.h"
#include "kernels/base/host_device.h"
#include "kernels/row_store/row_copy.h"
#include "kernels/row_store/slot_index.h"

namespace hotrow {

HOTROW_HOST_DEVICE inline void Vacate(const SlotIndexView& index, Slot slot) {
  index.digests[slot] = kEmptyDigest;
}

// Empties the slot of a row that leaves; kNoSlot is skipped. A slot that several keys of a stage
// name (a key that stands twice in a batch) adds 1 to *removed once.
template <typename Tile>
HOTROW_HOST_DEVICE void VacateOnce(const Tile& tile, const SlotIndexView& index, Slot slot,
                                   int64_t* removed) {
  tile.Leader(0, [&] {
    if (slot == kNoSlot || AtomicTakeByte(index.digests + slot) == kEmptyDigest) return 0;
    AtomicAdd(removed, int64_t{1});
    return 0;
  });
}

template <typename Tile>
HOTROW_HOST_DEVICE void Occupy(const Tile& tile, const SlotIndexView& index, Slot slot, Key key,
                               uint8_t digest) {
  ZeroRecord(tile, index.record(slot), index.row_bytes);
  tile.Leader(0, [&] {
    index.keys[slot] = key;
    index.scores[slot] = 0;
    index.digests[slot] = digest;
    return 0;
  });
  tile.Sync();
}

// Moves the row at `from`, with score and record, to the empty slot `to`.
template <typename Tile>
HOTROW_HOST_DEVICE void MoveRow(const Tile& tile, const SlotIndexView& index, Slot from, Slot to) {
  CopyRecord(tile, index.record(from), index.record(to), index.row_bytes);
  tile.Leader(0, [&] {
    index.keys[to] = index.keys[from];
    index.scores[to] = index.scores[from];
    index.digests[to] = index.digests[from];
    Vacate(index, from);
    return 0;
  });
  tile.Sync();
}

// An empty slot of the emptier candidate set, or kNoSlot.
template <typename Tile>
HOTROW_HOST_DEVICE Slot EmptySlot(const Tile& tile, const SlotIndexView& index,
                                  const Candidates& candidates) {
  const uint64_t first = index.Empty(tile, candidates.first);
  const uint64_t second = index.Empty(tile, candidates.second);
  if ((first | second) == 0) return kNoSlot;
  return CountBits(first) >= CountBits(second)
             ? index.FirstSlot(candidates.first) + LowestBit(first)
             : index.FirstSlot(candidates.second) + LowestBit(second);
}

// Frees a slot of the full set `set` by moving one unpinned row to its other candidate set.
template <typename Tile>
HOTROW_HOST_DEVICE Slot DisplaceFrom(const Tile& tile, const SlotIndexView& index, int64_t set) {
  const Slot first = index.FirstSlot(set);
  const uint64_t movable = ~index.pins[set] & LowBits(index.slots_per_set);
  for (int base = 0; base < index.slots_per_set; base += Tile::kWidth) {
    const uint64_t mask = tile.Ballot([&](int lane) {
      const int place = base + lane;
      return place < index.slots_per_set && (movable >> place & 1) != 0 &&
             index.HasRoom(index.AlternateOf(index.keys[first + place], set));
    });
    if (mask == 0) continue;
    const Slot from = first + base + LowestBit(mask);
    const int64_t target = index.AlternateOf(index.keys[from], set);
    MoveRow(tile, index, from, index.FirstSlot(target) + LowestBit(index.Empty(tile, target)));
    return from;
  }
  return kNoSlot;
}

// Frees a slot of either (full) candidate set by one such move, or returns kNoSlot.
template <typename Tile>
HOTROW_HOST_DEVICE Slot DisplaceOne(const Tile& tile, const SlotIndexView& index,
                                    const Candidates& candidates) {
  const Slot slot = DisplaceFrom(tile, index, candidates.first);
  if (slot != kNoSlot || candidates.second == candidates.first) return slot;
  return DisplaceFrom(tile, index, candidates.second);
}

// Frees a slot of the full set `set` by two moves: of an unpinned row to its full other set, from
// where a row moves on. Between powers of two half of the sets are asked for twice as often; they
// hold rows that only such a chain brings to the others: without it a store of 10007 sets refused
// at 87 %, with it at 94 %.
template <typename Tile>
HOTROW_HOST_DEVICE Slot DisplaceTwiceFrom(const Tile& tile, const SlotIndexView& index,
                                          int64_t set) {
  uint64_t movable = ~index.pins[set] & LowBits(index.slots_per_set);
  for (; movable != 0; movable &= movable - 1) {
    const Slot from = index.FirstSlot(set) + LowestBit(movable);
    const int64_t target = index.AlternateOf(index.keys[from], set);
    const Slot to = target == set ? kNoSlot : DisplaceFrom(tile, index, target);
    if (to == kNoSlot) continue;
    MoveRow(tile, index, from, to);
    return from;
  }
  return kNoSlot;
}

// Frees a slot of either (full) candidate set by two such moves, or returns kNoSlot.
template <typename Tile>
HOTROW_HOST_DEVICE Slot DisplaceTwo(const Tile& tile, const SlotIndexView& index,
                                    const Candidates& candidates) {
  const Slot slot = DisplaceTwiceFrom(tile, index, candidates.first);
  if (slot != kNoSlot || candidates.second == candidates.first) return slot;
  return DisplaceTwiceFrom(tile, index, candidates.second);
}

// (score, place) of the unpinned row with the lowest score in the full set `set`, the lower place
// among equals, as one ordered word; UINT64_MAX when all are pinned.
template <typename Tile>
HOTROW_HOST_DEVICE uint64_t LowestScore(const Tile& tile, const SlotIndexView& index, int64_t set) {
  const Slot first = index.FirstSlot(set);
  const uint64_t pins = index.pins[set];
  return tile.Min(index.slots_per_set, [&](int64_t place) {
    if ((pins >> place & 1) != 0) return UINT64_MAX;
    return uint64_t{index.scores[first + place]} << 8 | static_cast<uint64_t>(place);
  });
}

// Slot of the unpinned row with the lowest score in both (full) candidate sets, or kNoSlot. The row
// is left in place for the caller to save.
template <typename Tile>
HOTROW_HOST_DEVICE Slot LowestScoreSlot(const Tile& tile, const SlotIndexView& index,
                                        const Candidates& candidates) {
  const uint64_t first = LowestScore(tile, index, candidates.first);
  const uint64_t second = LowestScore(tile, index, candidates.second);
  const bool take_second = second >> 8 < first >> 8;
  const uint64_t lowest = take_second ? second : first;
  if (lowest == UINT64_MAX) return kNoSlot;
  const int64_t set = take_second ? candidates.second : candidates.first;
  return index.FirstSlot(set) + static_cast<int64_t>(lowest & 0xff);
}

}  // namespace hotrow
