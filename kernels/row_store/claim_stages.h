// What a batch of FindOrClaim does to one key, stage by stage, for the threads of a host and for
// the grid of a device.
//
// Keys of one batch meet where they share a candidate set, and then their order decides which slot
// each gets. Every round a key that waits writes its place in the batch into a word of each of its
// candidate sets (ReserveSets); the earliest keeps the words, and only a key that kept both takes
// its slot (ClaimReserved). So a key never overtakes an earlier one that it shares a set with, and
// the outcome is that of one thread that takes key after key. A round settles all keys but those
// with an earlier neighbour; the few that are left after some rounds are taken one by one.
// (Blelloch, Fineman, Gibbons, Shun 2012: deterministic reservations.)
//
// Thread safety: ReserveSets and ClaimReserved of different keys may run beside each other, not
// both at once. Ownership: nothing. Bounds: places in a batch take 32 bits.

#pragma once

#include <cstdint>

#include "kernels/base/atomic.h"
#include "kernels/base/host_device.h"
#include "kernels/row_store/row_store_ops.h"
#include "kernels/row_store/slot_index.h"

namespace hotrow {

// Of reservations: each settles the keys that no earlier one shares a set with.
inline constexpr int kClaimRounds = 4;

// What has become of a key. The first two are what `created` says in the end.
enum ClaimState : uint8_t {
  kClaimFound = 0,
  kClaimCreated = 1,
  kClaimWaiting = 2,  // for its turn
  kClaimFull = 3,     // no slot is empty
  kClaimRefused = 4,  // and none can be freed
};

// The batch as the stages see it; all arrays (n).
struct ClaimView {
  const Key* keys = nullptr;
  Slot* slots = nullptr;
  uint8_t* states = nullptr;  // ClaimState
};

// One word per set, or per several: sharing one makes keys wait, never wrong. A word holds the
// round and, the earlier the greater, the place of the key that keeps it; words of former rounds
// are less than any of this one and need no clearing.
struct ReservationView {
  uint64_t* words = nullptr;  // (mask + 1)
  uint64_t mask = 0;
  uint32_t round = 0;

  HOTROW_HOST_DEVICE uint64_t* WordOf(int64_t set) const {
    return words + (static_cast<uint64_t>(set) & mask);
  }
  HOTROW_HOST_DEVICE uint64_t Claim(int64_t place) const {
    return uint64_t{round} << 32 | (0xffffffffU - static_cast<uint32_t>(place));
  }
};

// The whole probe of one key: what the host's pipeline spreads over three stages.
template <typename Tile>
HOTROW_HOST_DEVICE Slot ProbeKey(const Tile& tile, const SlotIndexView& index, Key key) {
  Probe probe;
  StartProbe(tile, index, key, &probe);
  MatchProbe(tile, index, &probe);
  return FinishProbe(index, probe, key);
}

template <typename Tile>
HOTROW_HOST_DEVICE void ReserveSets(const Tile& tile, const SlotIndexView& index,
                                    const ReservationView& reservations, Key key, int64_t place) {
  const Candidates candidates = index.CandidatesOf(key);
  tile.Leader(0, [&] {
    AtomicMax(reservations.WordOf(candidates.first), reservations.Claim(place));
    AtomicMax(reservations.WordOf(candidates.second), reservations.Claim(place));
    return 0;
  });
}

HOTROW_HOST_DEVICE inline bool KeptBothSets(const ReservationView& reservations,
                                            const Candidates& candidates, int64_t place) {
  const uint64_t claim = reservations.Claim(place);
  return AtomicLoad(reservations.WordOf(candidates.first)) == claim &&
         AtomicLoad(reservations.WordOf(candidates.second)) == claim;
}

// Writes down what has become of a key.
template <typename Tile>
HOTROW_HOST_DEVICE void Settle(const Tile& tile, const ClaimView& batch, int64_t i, Slot slot,
                               ClaimState state) {
  tile.Leader(0, [&] {
    batch.slots[i] = slot;
    batch.states[i] = state;
    return 0;
  });
}

// Takes an empty slot for a key whose turn it is. kClaimFull when there is none.
template <typename Tile>
HOTROW_HOST_DEVICE void ClaimEmpty(const Tile& tile, const SlotIndexView& index,
                                   const ClaimView& batch, int64_t i) {
  const Key key = batch.keys[i];
  // Found after all: the caller repeats a key. Two rows for one key would be far worse.
  const Slot found = ProbeKey(tile, index, key);
  if (found != kNoSlot) return Settle(tile, batch, i, found, kClaimFound);
  const Candidates candidates = index.CandidatesOf(key);
  const Slot slot = EmptySlot(tile, index, candidates);
  if (slot != kNoSlot) Occupy(tile, index, slot, key, candidates.digest);
  Settle(tile, batch, i, slot, slot == kNoSlot ? kClaimFull : kClaimCreated);
}

// The same where the key has kept its sets.
template <typename Tile>
HOTROW_HOST_DEVICE void ClaimReserved(const Tile& tile, const SlotIndexView& index,
                                      const ReservationView& reservations, const ClaimView& batch,
                                      int64_t i) {
  if (KeptBothSets(reservations, index.CandidatesOf(batch.keys[i]), i)) {
    ClaimEmpty(tile, index, batch, i);
  }
}

// How much searching is worth where no slot is empty. Displacing reads the other sets of up to two
// sets of rows, twice over for two moves: the more of the store is taken, the less it is worth.
struct DisplaceLimits {
  int64_t above_free_slots_once = 0;
  int64_t above_free_slots_twice = 0;

  static constexpr DisplaceLimits For(int64_t slots, bool may_evict) {
    return {may_evict ? slots / 64 : 0, slots / 16};
  }
};

// Frees a slot in the full sets of a key by moving rows that are not pinned, or returns kNoSlot.
template <typename Tile>
HOTROW_HOST_DEVICE Slot DisplaceFor(const Tile& tile, const SlotIndexView& index,
                                    const Candidates& candidates, const DisplaceLimits& limits,
                                    int64_t free_slots) {
  Slot slot = kNoSlot;
  if (free_slots > limits.above_free_slots_once) slot = DisplaceOne(tile, index, candidates);
  if (slot == kNoSlot && free_slots > limits.above_free_slots_twice) {
    slot = DisplaceTwo(tile, index, candidates);
  }
  return slot;
}

}  // namespace hotrow
