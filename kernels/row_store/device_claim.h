// FindOrClaim on a device: the passes of claim_batch.h as stages over all keys of a batch, without
// a word to the host in between.
//
//   find | reserve, claim (kClaimRounds times) | count
//        | pin | one tile: those that still wait, in order; then those that rows must move for
//        | reserve, evict (kClaimRounds times) | one tile: the rest | unpin | finish
//
// The states in claim_stages.h say which keys a stage is for; the rest it passes by. The one tile
// keeps the order that rounds cannot, and reads only the chunks of the batch that have such keys.
//
// Thread safety: items of one stage run beside each other. Ownership: nothing. Shapes: arrays of
// the batch (n), chunks (ClaimChunks(n)). Outcome: that of the host's store in every slot.

#pragma once

#include <cstdint>

#include "kernels/base/atomic.h"
#include "kernels/base/host_device.h"
#include "kernels/row_store/claim_stages.h"

namespace hotrow {

// Keys that one tile counts together.
inline constexpr int64_t kClaimChunk = 1024;

constexpr int64_t ClaimChunks(int64_t n) { return (n + kClaimChunk - 1) / kClaimChunk; }

struct ClaimTotals {
  int64_t created = 0;
  int64_t waiting = 0;  // for their turn, or for a slot that is freed; refused in the end
  int64_t evicted = 0;
};

// Rows that had to leave, at the places of the keys that they left for; all (n).
struct EvictedView {
  uint8_t* evicted = nullptr;  // 1 where a row left
  Key* keys = nullptr;
  std::byte* records = nullptr;  // (n, row_bytes)
};

struct DeviceClaim {
  SlotIndexView index;
  ClaimView batch;
  int64_t n = 0;
  ReservationView reservations;    // words zero before the first round; rounds only grow
  uint32_t* waiting_in = nullptr;  // (chunks) keys of a chunk that a later pass is for
  ClaimTotals* totals = nullptr;   // one
  int64_t rows_before = 0;         // stored rows
  DisplaceLimits limits;
  EvictedView evicted;  // under kEvictLowestScore only
};

struct StartClaimStage {
  static constexpr const char* kName = "start_claim";
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    const Slot slot = ProbeKey(tile, claim.index, claim.batch.keys[i]);
    Settle(tile, claim.batch, i, slot, slot == kNoSlot ? kClaimWaiting : kClaimFound);
    if (claim.evicted.evicted == nullptr) return;
    tile.Leader(0, [&] {
      claim.evicted.evicted[i] = 0;
      return 0;
    });
  }
};

// The keys in `state` write their place into their sets.
struct ReserveStage {
  static constexpr const char* kName = "reserve";
  DeviceClaim claim;
  ClaimState state;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    if (claim.batch.states[i] != state) return;
    ReserveSets(tile, claim.index, claim.reservations, claim.batch.keys[i], i);
  }
};

struct ClaimReservedStage {
  static constexpr const char* kName = "claim_reserved";
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    if (claim.batch.states[i] != kClaimWaiting) return;
    ClaimReserved(tile, claim.index, claim.reservations, claim.batch, i);
  }
};

// Counts what chunk c of the batch has come to.
struct CountClaimStage {
  static constexpr const char* kName = "count_claim";
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t c) const {
    const int64_t begin = c * kClaimChunk;
    const int64_t size = claim.n - begin < kClaimChunk ? claim.n - begin : kClaimChunk;
    const uint8_t* const states = claim.batch.states + begin;
    const auto count = [&](auto matches) {
      return tile.Sum(size, [&](int64_t k) { return static_cast<int>(matches(states[k])); });
    };
    const int created = count([](uint8_t state) { return state == kClaimCreated; });
    const int waiting = count([](uint8_t state) { return state >= kClaimWaiting; });
    tile.Leader(0, [&] {
      claim.waiting_in[c] = static_cast<uint32_t>(waiting);
      if (created != 0) AtomicAdd(&claim.totals->created, int64_t{created});
      if (waiting != 0) AtomicAdd(&claim.totals->waiting, int64_t{waiting});
      return 0;
    });
  }
};

HOTROW_HOST_DEVICE inline void PinSlot(const SlotIndexView& index, Slot slot) {
  const int64_t set = index.SetOfSlot(slot);
  AtomicOr(index.pins + set, uint64_t{1} << (slot - index.FirstSlot(set)));
}

// Keeps the rows of the batch where they are, if others have to move.
struct PinStage {
  static constexpr const char* kName = "pin";
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    tile.Leader(0, [&] {
      const Slot slot = claim.batch.slots[i];
      if (claim.totals->waiting != 0 && slot != kNoSlot) PinSlot(claim.index, slot);
      return 0;
    });
  }
};

struct UnpinStage {
  static constexpr const char* kName = "unpin";
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    tile.Leader(0, [&] {
      const Slot slot = claim.batch.slots[i];
      if (slot != kNoSlot) {
        AtomicStore(claim.index.pins + claim.index.SetOfSlot(slot), uint64_t{0});
      }
      return 0;
    });
  }
};

// Saves the row with the lowest score in the sets of key i and gives its slot to the key.
template <typename Tile>
HOTROW_HOST_DEVICE void EvictFor(const Tile& tile, const DeviceClaim& claim, int64_t i) {
  const SlotIndexView& index = claim.index;
  const Key key = claim.batch.keys[i];
  const Slot found = ProbeKey(tile, index, key);
  if (found != kNoSlot) return Settle(tile, claim.batch, i, found, kClaimFound);
  const Candidates candidates = index.CandidatesOf(key);
  const Slot slot = LowestScoreSlot(tile, index, candidates);
  if (slot == kNoSlot) return Settle(tile, claim.batch, i, kNoSlot, kClaimRefused);
  CopyRecord(tile, index.record(slot), claim.evicted.records + i * index.row_bytes,
             index.row_bytes);
  tile.Leader(0, [&] {
    claim.evicted.evicted[i] = 1;
    claim.evicted.keys[i] = index.keys[slot];
    AtomicAdd(&claim.totals->evicted, int64_t{1});
    return 0;
  });
  tile.Sync();
  Occupy(tile, index, slot, key, candidates.digest);
  tile.Leader(0, [&] {
    PinSlot(index, slot);
    return 0;
  });
  Settle(tile, claim.batch, i, slot, kClaimCreated);
}

struct EvictReservedStage {
  static constexpr const char* kName = "evict_reserved";
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    if (claim.batch.states[i] != kClaimFull) return;
    const Candidates candidates = claim.index.CandidatesOf(claim.batch.keys[i]);
    if (KeptBothSets(claim.reservations, candidates, i)) EvictFor(tile, claim, i);
  }
};

// Calls f(i) for the keys of the batch in `state`, in order.
template <typename Tile, typename F>
HOTROW_HOST_DEVICE void ForEachInState(const Tile& tile, const DeviceClaim& claim, ClaimState state,
                                       const F& f) {
  for (int64_t begin = 0; begin < claim.n; begin += kClaimChunk) {
    if (claim.waiting_in[begin / kClaimChunk] == 0) continue;
    const int64_t end = begin + kClaimChunk < claim.n ? begin + kClaimChunk : claim.n;
    for (int64_t i = begin; i < end; ++i) {
      if (claim.batch.states[i] == state) f(i);
    }
  }
}

// Run by a single tile: first the keys that the rounds have left, then those that rows must move
// for.
struct ClaimInOrderStage {
  static constexpr const char* kName = "claim_in_order";
  static constexpr bool kOneTile = true;
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t /*only*/) const {
    if (claim.totals->waiting == 0) return;
    int64_t rows = claim.rows_before + claim.totals->created;
    ForEachInState(tile, claim, kClaimWaiting, [&](int64_t i) {
      ClaimEmpty(tile, claim.index, claim.batch, i);
      tile.Sync();
      if (claim.batch.states[i] == kClaimCreated) ++rows;
      PinClaimed(tile, i);
    });
    if (Free(rows) <= claim.limits.above_free_slots_once) return;
    ForEachInState(tile, claim, kClaimFull, [&](int64_t i) {
      rows += Displace(tile, i, Free(rows)) ? 1 : 0;
      tile.Sync();
      PinClaimed(tile, i);
    });
  }

 private:
  HOTROW_HOST_DEVICE int64_t Free(int64_t rows) const {
    return claim.index.sets * claim.index.slots_per_set - rows;
  }

  template <typename Tile>
  HOTROW_HOST_DEVICE void PinClaimed(const Tile& tile, int64_t i) const {
    tile.Leader(0, [&] {
      if (claim.batch.slots[i] != kNoSlot) PinSlot(claim.index, claim.batch.slots[i]);
      return 0;
    });
    tile.Sync();
  }

  // Whether the key got a new row.
  template <typename Tile>
  HOTROW_HOST_DEVICE bool Displace(const Tile& tile, int64_t i, int64_t free_slots) const {
    const Key key = claim.batch.keys[i];
    const Slot found = ProbeKey(tile, claim.index, key);
    if (found != kNoSlot) {
      Settle(tile, claim.batch, i, found, kClaimFound);
      return false;
    }
    const Candidates candidates = claim.index.CandidatesOf(key);
    const Slot slot = DisplaceFor(tile, claim.index, candidates, claim.limits, free_slots);
    if (slot == kNoSlot) return false;
    Occupy(tile, claim.index, slot, key, candidates.digest);
    Settle(tile, claim.batch, i, slot, kClaimCreated);
    return true;
  }
};

// Run by a single tile: the keys that the rounds of eviction have left.
struct EvictInOrderStage {
  static constexpr const char* kName = "evict_in_order";
  static constexpr bool kOneTile = true;
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t /*only*/) const {
    if (claim.totals->waiting == 0) return;
    ForEachInState(tile, claim, kClaimFull, [&](int64_t i) {
      EvictFor(tile, claim, i);
      tile.Sync();
    });
  }
};

// Turns states into the answers that FindOrClaim gives.
struct FinishClaimStage {
  static constexpr const char* kName = "finish_claim";
  DeviceClaim claim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    tile.Leader(0, [&] {
      if (claim.batch.states[i] >= kClaimWaiting) claim.batch.states[i] = kClaimFound;
      return 0;
    });
  }
};

}  // namespace hotrow
