#include "server/tiers/tier_stack.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hotrow {
namespace {

LowerTiers Below(TierParts& parts, const RowLayout& layout) {
  std::vector<std::unique_ptr<Tier>> tiers;
  if (parts.warm != nullptr) tiers.push_back(std::move(parts.warm));
  if (parts.cold != nullptr) tiers.push_back(std::move(parts.cold));
  return {std::move(tiers), layout};
}

}  // namespace

TierStack::TierStack(TierParts parts, ScorePolicy policy, TierWorkspace& workspace)
    : hot_(std::move(parts.hot)),
      warm_(parts.warm.get()),
      cold_(parts.cold.get()),
      lower_(Below(parts, hot_->layout())),
      policy_(policy),
      work_(workspace),
      rows_(cold_ == nullptr ? 0 : cold_->Size().rows) {}

bool TierStack::FindMissing(std::span<const Key> keys, std::span<const Slot> slots) {
  work_.missing.clear();
  work_.places.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (slots[i] != kNoSlot) continue;
    work_.missing.push_back(keys[i]);
    work_.places.push_back(i);
  }
  return !work_.missing.empty();
}

absl::Status TierStack::Resolve(std::span<const Key> keys, std::span<Slot> slots,
                                std::span<uint8_t> created) {
  if (lower_.empty()) {
    rows_ += hot_->FindOrClaim(keys, slots, created, nullptr).created;
    return absl::OkStatus();
  }
  hot_->Find(keys, slots);
  if (FindMissing(keys, slots)) {
    if (absl::Status status = BringUp(keys, slots, created); !status.ok()) return status;
  } else {
    std::fill(created.begin(), created.end(), uint8_t{0});
  }
  for (const Slot slot : slots) {
    if (slot >= 0) hot_->set_score(slot, policy_.OnPush(hot_->score(slot)));
  }
  return absl::OkStatus();
}

absl::Status TierStack::BringUp(std::span<const Key> keys, std::span<Slot> slots,
                                std::span<uint8_t> created) {
  work_.down.Clear();
  if (absl::Status status = FetchForPush(); !status.ok()) return status;
  Claim(keys, slots, created);
  PlaceFetched(slots, created);
  PutDown();
  return absl::OkStatus();
}

// Gets the missing rows from below, and decides which new keys may be created.
absl::Status TierStack::FetchForPush() {
  const auto count = static_cast<int64_t>(work_.missing.size());
  const absl::Status room = lower_.MakeRoom(count, Patience::kBounded);
  const Lookup lookup = room.ok() ? Lookup::kMove : Lookup::kCopy;
  if (absl::Status status = lower_.Fetch(work_.missing, lookup, &work_.fetched); !status.ok()) {
    ++moves_.read_failures;
    return status;
  }
  work_.may_displace = room.ok();
  if (!room.ok()) ++moves_.eviction_failures;
  const absl::Status may_grow = lower_.MayGrow();
  work_.refused.assign(work_.missing.size(), 0);
  for (size_t i = 0; i < work_.missing.size(); ++i) {
    const bool known = work_.fetched.found(i);
    // A known row could not leave the hot tier again: it has to wait until it can.
    if (known && !room.ok()) return room;
    if (!known && !may_grow.ok()) work_.refused[i] = 1;
  }
  return absl::OkStatus();
}

// Finds or claims hot slots for all keys that are not refused. Those that are there take part: they
// are pinned then, and their slots may change.
void TierStack::Claim(std::span<const Key> keys, std::span<Slot> slots,
                      std::span<uint8_t> created) {
  RowBlock* const displaced = MayEvict() && work_.may_displace ? &work_.down : nullptr;
  if (std::find(work_.refused.begin(), work_.refused.end(), 1) == work_.refused.end()) {
    hot_->FindOrClaim(keys, slots, created, displaced);
  } else {
    std::fill(created.begin(), created.end(), uint8_t{0});
    for (size_t i = 0; i < work_.places.size(); ++i) {
      if (work_.refused[i] != 0) created[work_.places[i]] = 1;  // left out, until the end of this
    }
    work_.claimed.clear();
    for (size_t i = 0; i < keys.size(); ++i) {
      if (created[i] == 0) work_.claimed.push_back(keys[i]);
    }
    work_.claimed_slots.resize(work_.claimed.size());
    work_.claimed_created.resize(work_.claimed.size());
    hot_->FindOrClaim(work_.claimed, work_.claimed_slots, work_.claimed_created, displaced);
    for (size_t i = 0, next = 0; i < keys.size(); ++i) {
      const bool refused = created[i] != 0;
      slots[i] = refused ? kNoSlot : work_.claimed_slots[next];
      created[i] = refused ? 0 : work_.claimed_created[next++];
    }
  }
  moves_.evictions += work_.down.keys.size();
}

// Fills the slots that were claimed with the rows from below. A row that got none is worked on in
// scratch, a new one too where it may go down.
void TierStack::PlaceFetched(std::span<Slot> slots, std::span<uint8_t> created) {
  scratch_.clear();
  scratch_scores_.clear();
  for (size_t i = 0; i < work_.missing.size(); ++i) {
    const size_t at = work_.places[i];
    const bool known = work_.fetched.found(i);
    if (work_.refused[i] != 0) continue;
    if (slots[at] == kNoSlot && (known || (work_.may_displace && MayEvict()))) {
      const std::byte* const record = work_.fetched.records.data() + i * layout().row_bytes;
      slots[at] = ScratchSlot(scratch_scores_.size());
      scratch_.insert(scratch_.end(), record, record + layout().row_bytes);
      scratch_scores_.push_back(policy_.OnPush(policy_.OnReturn(work_.fetched.scores[i])));
    } else if (slots[at] >= 0 && known) {
      Place(i, slots[at]);
    }
    created[at] = known || slots[at] == kNoSlot ? 0 : 1;
    rows_ += created[at];
  }
}

// Puts fetched row i into its slot of the hot tier.
void TierStack::Place(size_t i, Slot slot) {
  const int64_t row_bytes = layout().row_bytes;
  std::memcpy(hot_->record(slot), work_.fetched.records.data() + i * row_bytes, row_bytes);
  hot_->set_score(slot, policy_.OnReturn(work_.fetched.scores[i]));
  ++moves_.promotions;
}

void TierStack::PutDown() {
  lower_.PutDown(work_.down);
  work_.down.Clear();
}

void TierStack::Abandon(std::span<const Key> keys, std::span<const Slot> slots,
                        std::span<const uint8_t> created) {
  work_.claimed.clear();
  work_.claimed_slots.assign(slots.begin(), slots.end());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (created[i] == 0) continue;
    --rows_;
    if (slots[i] >= 0) work_.claimed.push_back(keys[i]);
    work_.claimed_slots[i] = kNoSlot;  // a new row in scratch is forgotten with it
  }
  hot_->Erase(work_.claimed);
  Settle(keys, work_.claimed_slots);
}

void TierStack::Settle(std::span<const Key> keys, std::span<const Slot> slots) {
  if (scratch_scores_.empty()) return;
  const int64_t row_bytes = layout().row_bytes;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (slots[i] >= kNoSlot) continue;
    work_.down.Add(keys[i], scratch_scores_[-2 - slots[i]], record(slots[i]), row_bytes);
  }
  PutDown();
  scratch_.clear();
  scratch_scores_.clear();
}

absl::Status TierStack::Remove(std::span<const Key> keys, std::span<uint8_t> removed) {
  work_.slots.resize(keys.size());
  hot_->Find(keys, work_.slots);
  for (size_t i = 0; i < keys.size(); ++i) removed[i] = work_.slots[i] == kNoSlot ? 0 : 1;
  if (!lower_.empty()) {
    const auto count = static_cast<int64_t>(keys.size());
    absl::Status status = lower_.MakeRoom(count, Patience::kBounded);
    if (status.ok()) status = RemoveBelow(keys, removed);
    if (!status.ok()) return status;
  }
  hot_->Erase(keys);
  rows_ -= std::count(removed.begin(), removed.end(), 1);
  return absl::OkStatus();
}

// Takes the rows out of the lower tiers, copies of rows of the hot tier included.
absl::Status TierStack::RemoveBelow(std::span<const Key> keys, std::span<uint8_t> removed) {
  std::vector<Key>& copies = work_.claimed;
  copies.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (removed[i] == 0) continue;
    const RowMeta* const meta = layout().meta(hot_->record(work_.slots[i]));
    if ((meta->flags & kRowBelow) != 0) copies.push_back(keys[i]);
  }
  if (FindMissing(keys, work_.slots)) {
    FetchedRows& rows = work_.fetched;
    if (absl::Status status = lower_.Fetch(work_.missing, Lookup::kMove, &rows); !status.ok()) {
      return status;
    }
    for (size_t i = 0; i < work_.missing.size(); ++i) {
      if (!rows.found(i)) continue;
      removed[work_.places[i]] = 1;
      const RowMeta* const meta = layout().meta(rows.records.data() + i * layout().row_bytes);
      if ((meta->flags & kRowBelow) != 0) copies.push_back(work_.missing[i]);
    }
  }
  lower_.RemoveCopies(copies);
  return absl::OkStatus();
}

}  // namespace hotrow
