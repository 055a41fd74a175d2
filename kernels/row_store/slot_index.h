// SlotIndexView: the arrays of a row store as algorithms see them, and how a key finds its slot.
//
// Probing a key reads one digest line per candidate set (find both, because a key may live in
// either), then the key word of the slots whose digest matches: one in 255 of the other rows.
//
//   StartProbe   hash, candidate sets        prefetches the digests
//   MatchProbe   compare digests             prefetches the keys that match
//   FinishProbe  compare keys                the slot, or kNoSlot
//
// Candidate sets: the number of sets need not be a power of two (linear hashing): a hash is taken
// modulo 2^(L+1), and modulo 2^L where that names a set that does not exist yet, 2^L <= sets.
//
// Thread safety: a value; bodies that only find may run beside each other.
// Ownership: nothing. Usable on host and device.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/bits.h"
#include "kernels/base/host_device.h"
#include "kernels/base/key.h"
#include "kernels/row_store/slot.h"

namespace hotrow {

inline constexpr uint8_t kEmptyDigest = 0;

// Where a key may live. The two sets may be one.
struct Candidates {
  int64_t first = 0;
  int64_t second = 0;
  uint8_t digest = 0;  // never kEmptyDigest
};

struct SlotIndexView {
  uint8_t* digests = nullptr;    // (sets, slots_per_set) kEmptyDigest where no row is
  Key* keys = nullptr;           // (sets, slots_per_set)
  uint32_t* scores = nullptr;    // (sets, slots_per_set)
  uint64_t* pins = nullptr;      // (sets) a bit per slot that the batch has touched
  std::byte* records = nullptr;  // (sets, slots_per_set, row_bytes)
  int64_t row_bytes = 0;
  uint64_t table_salt = 0;
  int64_t sets = 0;
  uint64_t set_mask = 0;  // 2^(L+1) - 1
  int slots_per_set = 0;

  HOTROW_HOST_DEVICE void SetCount(int64_t count) {
    sets = count;
    set_mask = LowBits(HighestBit(static_cast<uint64_t>(count)) + 1);
  }

  HOTROW_HOST_DEVICE int64_t SetOf(uint64_t hash) const {
    const uint64_t set = hash & set_mask;
    return static_cast<int64_t>(set < static_cast<uint64_t>(sets) ? set : set & (set_mask >> 1));
  }

  HOTROW_HOST_DEVICE Candidates CandidatesOf(Key key) const {
    const uint64_t hash = HashKey(key, table_salt);
    const uint8_t digest = DigestOfHash(hash);
    // Any odd constant: it only keeps MixKey(0) = 0 from giving hash 0 the same set twice.
    const uint64_t second_hash = MixKey(hash + 0x9e3779b97f4a7c15ULL);
    return {SetOf(hash), SetOf(second_hash), digest == kEmptyDigest ? uint8_t{1} : digest};
  }

  // The candidate of `key` that is not `set`; `set` itself when both are the same.
  HOTROW_HOST_DEVICE int64_t AlternateOf(Key key, int64_t set) const {
    const Candidates candidates = CandidatesOf(key);
    return candidates.first == set ? candidates.second : candidates.first;
  }

  HOTROW_HOST_DEVICE Slot FirstSlot(int64_t set) const { return set * slots_per_set; }
  HOTROW_HOST_DEVICE int64_t SetOfSlot(Slot slot) const { return slot / slots_per_set; }
  HOTROW_HOST_DEVICE std::byte* record(Slot slot) const { return records + slot * row_bytes; }

  template <typename Tile>
  HOTROW_HOST_DEVICE uint64_t Empty(const Tile& tile, int64_t set) const {
    return tile.MatchBytes(digests + FirstSlot(set), slots_per_set, kEmptyDigest);
  }
  template <typename Tile>
  HOTROW_HOST_DEVICE uint64_t Occupied(const Tile& tile, int64_t set) const {
    return ~Empty(tile, set) & LowBits(slots_per_set);
  }
  HOTROW_HOST_DEVICE bool HasRoom(int64_t set) const {
    return HasZeroByte(digests + FirstSlot(set), slots_per_set);
  }
};

// State of one key between the stages of a probe.
struct Probe {
  Candidates candidates;
  uint64_t first_match = 0;  // slots of the first set whose digest matches
  uint64_t second_match = 0;
};

template <typename Tile>
HOTROW_HOST_DEVICE void StartProbe(const Tile& tile, const SlotIndexView& index, Key key,
                                   Probe* probe) {
  probe->candidates = index.CandidatesOf(key);
  tile.Prefetch(index.digests + index.FirstSlot(probe->candidates.first));
  tile.Prefetch(index.digests + index.FirstSlot(probe->candidates.second));
}

template <typename Tile>
HOTROW_HOST_DEVICE uint64_t MatchSet(const Tile& tile, const SlotIndexView& index, int64_t set,
                                     uint8_t digest) {
  const Slot first = index.FirstSlot(set);
  const uint64_t match = tile.MatchBytes(index.digests + first, index.slots_per_set, digest);
  if (match != 0) tile.Prefetch(index.keys + first + LowestBit(match));
  return match;
}

template <typename Tile>
HOTROW_HOST_DEVICE void MatchProbe(const Tile& tile, const SlotIndexView& index, Probe* probe) {
  const Candidates& candidates = probe->candidates;
  probe->first_match = MatchSet(tile, index, candidates.first, candidates.digest);
  probe->second_match = MatchSet(tile, index, candidates.second, candidates.digest);
}

HOTROW_HOST_DEVICE inline Slot FindAmong(const SlotIndexView& index, int64_t set, uint64_t match,
                                         Key key) {
  for (; match != 0; match &= match - 1) {
    const Slot slot = index.FirstSlot(set) + LowestBit(match);
    if (index.keys[slot] == key) return slot;
  }
  return kNoSlot;
}

HOTROW_HOST_DEVICE inline Slot FinishProbe(const SlotIndexView& index, const Probe& probe,
                                           Key key) {
  const Slot slot = FindAmong(index, probe.candidates.first, probe.first_match, key);
  if (slot != kNoSlot) return slot;
  return FindAmong(index, probe.candidates.second, probe.second_match, key);
}

}  // namespace hotrow
