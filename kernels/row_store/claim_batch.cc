#include "kernels/row_store/claim_batch.h"

#include <algorithm>

#include "kernels/row_store/row_store_ops.h"
#include "kernels/space/host_space.h"

namespace hotrow {
namespace {

constexpr int kClaimDistance = 8;
// Of one round of growth for crowded sets: about a millisecond of moves.
constexpr int64_t kMaxGrowSlots = 16384;
constexpr HostSpace::Tile kTile{};

}  // namespace

void ClaimBatch::Run(int64_t rows, EvictedRows* evicted, ClaimCounts* counts) {
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
    ClaimMissing(Last::kLeaveMissing);
    if (missing_->empty()) break;
    UnpinAll();
    if (!table_->GrowBy(std::min(sets / 4 + 1, kMaxGrowSlots / slots_per_set))) break;
    RefreshMovedSlots();
  }
  ClaimMissing(Last::kApplyPolicy);
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
  for (size_t i = 0; i < batch_.keys.size(); ++i) {
    const Slot slot = batch_.slots[i];
    if (slot == kNoSlot) continue;
    if (index.digests[slot] != kEmptyDigest && index.keys[slot] == batch_.keys[i]) continue;
    Probe probe;
    StartProbe(kTile, index, batch_.keys[i], &probe);
    MatchProbe(kTile, index, &probe);
    batch_.slots[i] = FinishProbe(index, probe, batch_.keys[i]);
    HOTROW_CHECK(batch_.slots[i] != kNoSlot);
  }
}

void ClaimBatch::ClaimMissing(Last last) {
  const SlotIndexView& index = table_->index();
  size_t left = 0;  // keys still without a slot, moved to the front of the list
  HostSpace::Run<kClaimDistance, Probe>(
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
        const Key key = batch_.keys[i];
        MatchProbe(tile, index, &probe);
        batch_.slots[i] = FinishProbe(index, probe, key);
        // Found after all: the caller repeats a key. Two rows for one key would be far worse.
        if (batch_.slots[i] != kNoSlot) {
          ++counts_->found;
          return;
        }
        const Slot slot = ClaimOne(key, probe.candidates, last);
        batch_.slots[i] = slot;
        batch_.created[i] = slot != kNoSlot;
        if (slot == kNoSlot) (*missing_)[left++] = i;
      });
  missing_->resize(left);
}

Slot ClaimBatch::ClaimOne(Key key, const Candidates& candidates, Last last) {
  Slot slot = EmptySlot(kTile, table_->index(), candidates);
  if (slot == kNoSlot) slot = SlotByForce(candidates, last);
  if (slot == kNoSlot) return kNoSlot;
  Occupy(kTile, table_->index(), slot, key, candidates.digest);
  if (pinned_) Pin(slot);
  ++rows_;
  ++counts_->created;
  return slot;
}

// Displacing reads the other sets of up to two sets of rows, twice over for two moves: the more of
// the store is taken, the less the search is worth.
Slot ClaimBatch::SlotByForce(const Candidates& candidates, Last last) {
  PinAll();
  const bool may_evict = policy_ == FullPolicy::kEvictLowestScore;
  const int64_t free_slots = table_->slots() - rows_;
  Slot slot = kNoSlot;
  if (free_slots > (may_evict ? table_->slots() / 64 : 0)) {
    slot = DisplaceOne(kTile, table_->index(), candidates);
  }
  if (slot == kNoSlot && free_slots > table_->slots() / 16) {
    slot = DisplaceTwo(kTile, table_->index(), candidates);
  }
  const bool evict = slot == kNoSlot && may_evict && last == Last::kApplyPolicy;
  return evict ? EvictFrom(candidates) : slot;
}

Slot ClaimBatch::EvictFrom(const Candidates& candidates) {
  const SlotIndexView& index = table_->index();
  const Slot slot = LowestScoreSlot(kTile, index, candidates);
  if (slot == kNoSlot) return kNoSlot;
  const std::byte* const record = index.record(slot);
  evicted_->keys.push_back(index.keys[slot]);
  evicted_->records.insert(evicted_->records.end(), record, record + index.row_bytes);
  Vacate(index, slot);
  --rows_;
  ++counts_->evicted;
  return slot;
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
