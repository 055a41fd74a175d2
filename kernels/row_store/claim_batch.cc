#include "kernels/row_store/claim_batch.h"

#include <algorithm>
#include <bit>

#include "kernels/row_store/row_store_ops.h"
#include "kernels/space/host_space.h"

namespace hotrow {
namespace {

constexpr int kClaimDistance = 8;
// Of one round of growth for crowded sets: about a millisecond of moves.
constexpr int64_t kMaxGrowSlots = 16384;

}  // namespace

void ClaimBatch::Run(int64_t rows, RowBlock* evicted, ClaimCounts* counts) {
  rows_ = rows;
  evicted_ = evicted;
  counts_ = counts;
  const int64_t wanted_rows = rows_ + static_cast<int64_t>(missing_->size());
  if (table_->GrowFor(wanted_rows)) RefreshMovedSlots();
  // Above the target load there is no memory left, and nothing to try.
  const bool has_memory = !table_->AboveTarget(wanted_rows);
  const int64_t& sets = table_->index().sets;
  const int slots_per_set = table_->index().slots_per_set;
  for (int rounds = 0; has_memory && MayGrow(rounds); ++rounds) {
    ClaimMissing();
    if (missing_->empty()) break;
    UnpinAll();
    if (!table_->GrowBy(std::min(sets / 4 + 1, kMaxGrowSlots / slots_per_set))) break;
    RefreshMovedSlots();
  }
  ClaimMissing();
  if (policy_ == FullPolicy::kEvictLowestScore && !missing_->empty()) ClaimEvicted();
  UnpinAll();
  counts_->refused += static_cast<int64_t>(missing_->size());
}

// Beyond the target load growth is for keys whose sets happen to be full (rare with 32 slots a set,
// common with 4): never for more than four times the rows, or chosen keys could use up the budget.
bool ClaimBatch::MayGrow(int rounds) const {
  const int64_t wanted_rows = rows_ + static_cast<int64_t>(missing_->size());
  return rounds < kMaxGrowRounds && !table_->at_limit() &&
         (table_->index().sets < 8 || wanted_rows * 4 > table_->slots());
}

// Growing moved rows out of slots that earlier stages had found. No slot has been refilled since,
// so a slot that still shows the key is still the key's.
void ClaimBatch::RefreshMovedSlots() {
  const SlotIndexView& index = table_->index();
  table_->space().ForRanges(
      static_cast<int64_t>(batch_.keys.size()), [&](const auto& tile, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Slot slot = batch_.slots[i];
          if (slot == kNoSlot) continue;
          if (index.digests[slot] != kEmptyDigest && index.keys[slot] == batch_.keys[i]) continue;
          batch_.slots[i] = ProbeKey(tile, index, batch_.keys[i]);
          HOTROW_CHECK(batch_.slots[i] != kNoSlot);
        }
      });
}

void ClaimBatch::ClaimMissing() {
  // Reservations cost a single thread more than taking key after key.
  const bool in_rounds = table_->space().Threads(static_cast<int64_t>(missing_->size())) > 1;
  workspace_->full.clear();
  if (in_rounds) ClaimInRounds();
  ClaimOneByOne();
  if (!workspace_->full.empty()) {
    missing_->insert(missing_->end(), workspace_->full.begin(), workspace_->full.end());
    std::sort(missing_->begin(), missing_->end());
  }
  if (!missing_->empty()) ClaimDisplaced();
}

void ClaimBatch::ClaimOneByOne() {
  const SlotIndexView& index = table_->index();
  size_t left = 0;  // keys still without a slot, moved to the front of the list
  table_->space().Alone().Run<kClaimDistance, Probe>(
      static_cast<int64_t>(missing_->size()),
      [&](const auto& tile, int64_t m, Probe& probe) {
        StartProbe(tile, index, batch_.keys[(*missing_)[m]], &probe);
      },
      [&](const auto& tile, int64_t, Probe& probe) {
        const Slot likely = EmptySlot(tile, index, probe.candidates);
        if (likely == kNoSlot) return;
        tile.Prefetch(index.keys + likely);
        tile.Prefetch(index.scores + likely);
        PrefetchWeights(tile, index.record(likely), index.row_bytes);
      },
      [&](const auto& tile, int64_t m, Probe& probe) {
        const int64_t i = (*missing_)[m];
        if (IsFoundNow(tile, i, &probe)) return;
        const Slot slot = EmptySlot(tile, index, probe.candidates);
        if (slot == kNoSlot) {
          (*missing_)[left++] = i;
        } else {
          Take(tile, i, slot, probe.candidates.digest);
        }
      });
  missing_->resize(left);
}

// Leaves in `missing` the keys that many earlier ones share a set with, in `full` those without an
// empty slot.
void ClaimBatch::ClaimInRounds() {
  HOTROW_CHECK(batch_.keys.size() <= UINT32_MAX);
  const HostSpace& space = table_->space();
  const SlotIndexView& index = table_->index();
  const ClaimView view{batch_.keys.data(), batch_.slots.data(), batch_.created.data()};
  for (int round = 0; round < kClaimRounds && !missing_->empty(); ++round) {
    const auto waiting = static_cast<int64_t>(missing_->size());
    const ReservationView reservations = NextRound();
    space.ForEach(waiting, [&](const auto& tile, int64_t m) {
      ReserveSets(tile, index, reservations, view.keys[(*missing_)[m]], (*missing_)[m]);
    });
    space.ForEach(waiting, [&](const auto& tile, int64_t m) {
      view.states[(*missing_)[m]] = kClaimWaiting;
      ClaimReserved(tile, index, reservations, view, (*missing_)[m]);
    });
    CountRound();
  }
}

ReservationView ClaimBatch::NextRound() {
  std::vector<uint64_t>& words = workspace_->reservations;
  const size_t wanted = std::bit_ceil(missing_->size() * 4);
  if (words.size() < wanted || workspace_->round == UINT32_MAX) {
    words.assign(std::max(words.size(), wanted), 0);
    workspace_->round = 0;
  }
  return {words.data(), words.size() - 1, ++workspace_->round};
}

void ClaimBatch::CountRound() {
  size_t left = 0;
  for (const int64_t i : *missing_) {
    uint8_t& state = batch_.created[i];
    if (state == kClaimFound) ++counts_->found;
    if (state == kClaimCreated) ++counts_->created;
    if (state == kClaimWaiting) (*missing_)[left++] = i;
    if (state == kClaimFull) workspace_->full.push_back(i);
    if (state == kClaimCreated) {
      ++rows_;
      if (pinned_) Pin(batch_.slots[i]);
    } else {
      state = 0;
    }
  }
  missing_->resize(left);
}

// True when the key got a slot since the batch began: the caller repeats it. Two rows for one key
// would be far worse.
template <typename Tile>
bool ClaimBatch::IsFoundNow(const Tile& tile, int64_t i, Probe* probe) {
  MatchProbe(tile, table_->index(), probe);
  batch_.slots[i] = FinishProbe(table_->index(), *probe, batch_.keys[i]);
  if (batch_.slots[i] == kNoSlot) return false;
  ++counts_->found;
  return true;
}

// Gives the free slot to key i.
template <typename Tile>
void ClaimBatch::Take(const Tile& tile, int64_t i, Slot slot, uint8_t digest) {
  Occupy(tile, table_->index(), slot, batch_.keys[i], digest);
  batch_.slots[i] = slot;
  batch_.created[i] = 1;
  if (pinned_) Pin(slot);
  ++rows_;
  ++counts_->created;
}

// Gives each missing key, one by one, the slot that free_slot(tile, candidates) frees for it.
template <typename FreeSlot>
void ClaimBatch::ClaimFreed(const FreeSlot& free_slot) {
  PinAll();
  size_t left = 0;
  table_->space().Alone().ForEach(static_cast<int64_t>(missing_->size()),
                                  [&](const auto& tile, int64_t m) {
                                    const int64_t i = (*missing_)[m];
                                    Probe probe;
                                    StartProbe(tile, table_->index(), batch_.keys[i], &probe);
                                    if (IsFoundNow(tile, i, &probe)) return;
                                    const Slot slot = free_slot(tile, probe.candidates);
                                    if (slot == kNoSlot) {
                                      (*missing_)[left++] = i;
                                    } else {
                                      Take(tile, i, slot, probe.candidates.digest);
                                    }
                                  });
  missing_->resize(left);
}

void ClaimBatch::ClaimDisplaced() {
  const bool may_evict = policy_ == FullPolicy::kEvictLowestScore;
  const DisplaceLimits limits = DisplaceLimits::For(table_->slots(), may_evict);
  if (table_->slots() - rows_ <= limits.above_free_slots_once) return;
  ClaimFreed([&](const auto& tile, const Candidates& candidates) {
    return DisplaceFor(tile, table_->index(), candidates, limits, table_->slots() - rows_);
  });
}

void ClaimBatch::ClaimEvicted() {
  ClaimFreed([&](const auto& tile, const Candidates& candidates) {
    const Slot slot = LowestScoreSlot(tile, table_->index(), candidates);
    if (slot != kNoSlot) SaveEvicted(slot);
    return slot;
  });
}

void ClaimBatch::SaveEvicted(Slot slot) {
  const SlotIndexView& index = table_->index();
  evicted_->Add(index.keys[slot], index.scores[slot], index.record(slot), index.row_bytes);
  Vacate(index, slot);
  --rows_;
  ++counts_->evicted;
}

void ClaimBatch::Pin(Slot slot) {
  const SlotIndexView& index = table_->index();
  const int64_t set = index.SetOfSlot(slot);
  index.pins[set] |= uint64_t{1} << (slot - index.FirstSlot(set));
}

void ClaimBatch::PinAll() {
  if (pinned_) return;
  pinned_ = true;
  for (const Slot slot : batch_.slots) {
    if (slot != kNoSlot) Pin(slot);
  }
}

void ClaimBatch::UnpinAll() {
  if (!pinned_) return;
  pinned_ = false;
  for (const Slot slot : batch_.slots) {
    if (slot != kNoSlot) table_->index().pins[table_->index().SetOfSlot(slot)] = 0;
  }
}

}  // namespace hotrow
