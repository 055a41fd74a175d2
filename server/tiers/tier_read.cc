// Reading the rows of a TierStack, and bringing up what was read from below.

#include <cstring>

#include "server/tiers/tier_stack.h"

namespace hotrow {

absl::Status TierStack::Read(std::span<const Key> keys, const RowsView& rows, ReadKind kind,
                             std::vector<size_t>* unknown) {
  work_.slots.resize(keys.size());
  hot_->Find(keys, work_.slots);
  hot_->CopyWeights(work_.slots, rows);
  unknown->clear();
  const bool complete = !FindMissing(keys, work_.slots);
  reads_.hot += keys.size() - work_.missing.size();
  if (lower_.empty()) {
    unknown->assign(work_.places.begin(), work_.places.end());
  } else {
    if (kind == ReadKind::kTraining) {
      for (const Slot slot : work_.slots) {
        if (slot != kNoSlot) hot_->set_score(slot, policy_.OnPull(hot_->score(slot)));
      }
    }
    if (!complete) {
      if (absl::Status status = ReadBelow(rows, kind, unknown); !status.ok()) {
        ++moves_.read_failures;
        return status;
      }
    }
  }
  reads_.unknown += unknown->size();
  return absl::OkStatus();
}

// The missing keys, each once. Where rows cannot go down none comes up either: they are copied.
absl::Status TierStack::ReadBelow(const RowsView& rows, ReadKind kind,
                                  std::vector<size_t>* unknown) {
  work_.deduper.Run(work_.missing);
  const std::span<const Key> unique = work_.deduper.unique();
  const auto count = static_cast<int64_t>(unique.size());
  const bool move = kind == ReadKind::kTraining && lower_.MakeRoom(count, Patience::kNone).ok();
  const Lookup lookup = move ? Lookup::kMove : Lookup::kCopy;
  if (absl::Status status = lower_.Fetch(unique, lookup, &work_.fetched); !status.ok()) {
    return status;
  }
  CopyFetched(rows, unknown);
  if (move) Promote();
  return absl::OkStatus();
}

void TierStack::CopyFetched(const RowsView& rows, std::vector<size_t>* unknown) {
  const std::span<const int32_t> inverse = work_.deduper.inverse();
  const size_t bytes = rows.dim * sizeof(float);
  for (size_t i = 0; i < inverse.size(); ++i) {
    const auto from = static_cast<size_t>(inverse[i]);
    if (!work_.fetched.found(from)) {
      unknown->push_back(work_.places[i]);
      continue;
    }
    const std::byte* const record = work_.fetched.records.data() + from * layout().row_bytes;
    std::memcpy(rows.rows[work_.places[i]], record, bytes);
    ++(lower_.tiers()[work_.fetched.tier[from]].get() == cold_ ? reads_.cold : reads_.warm);
  }
}

// Gives the rows that were fetched slots of the hot tier. Those that get none go down again.
void TierStack::Promote() {
  const FetchedRows& rows = work_.fetched;
  work_.claimed.clear();
  work_.places.clear();
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    if (!rows.found(i)) continue;
    work_.claimed.push_back(rows.keys[i]);
    work_.places.push_back(i);
  }
  if (work_.claimed.empty()) return;
  work_.claimed_slots.resize(work_.claimed.size());
  work_.claimed_created.resize(work_.claimed.size());
  work_.down.Clear();
  hot_->FindOrClaim(work_.claimed, work_.claimed_slots, work_.claimed_created,
                    MayEvict() ? &work_.down : nullptr);
  moves_.evictions += work_.down.keys.size();
  for (size_t i = 0; i < work_.claimed.size(); ++i) {
    const size_t from = work_.places[i];
    const Slot slot = work_.claimed_slots[i];
    if (slot == kNoSlot) {
      work_.down.Add(rows.keys[from], rows.scores[from],
                     rows.records.data() + from * layout().row_bytes, layout().row_bytes);
      continue;
    }
    Place(from, slot);
    hot_->set_score(slot, policy_.OnPull(hot_->score(slot)));
  }
  PutDown();
}

absl::Status TierStack::ReadRecords(const RowTargets& rows, std::span<uint8_t> found) {
  const int64_t row_bytes = layout().row_bytes;
  work_.slots.resize(rows.size());
  hot_->Find(rows.keys, work_.slots);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Slot slot = work_.slots[i];
    found[i] = slot == kNoSlot ? 0 : 1;
    if (slot == kNoSlot) continue;
    std::memcpy(rows.records[i], hot_->record(slot), row_bytes);
    rows.scores[i] = hot_->score(slot);
  }
  if (!FindMissing(rows.keys, work_.slots) || lower_.empty()) return absl::OkStatus();
  const FetchedRows& fetched = work_.fetched;
  if (absl::Status status = lower_.Fetch(work_.missing, Lookup::kCopy, &work_.fetched);
      !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < work_.missing.size(); ++i) {
    if (!fetched.found(i)) continue;
    const size_t at = work_.places[i];
    found[at] = 1;
    rows.scores[at] = fetched.scores[i];
    std::memcpy(rows.records[at], fetched.records.data() + i * row_bytes, row_bytes);
  }
  return absl::OkStatus();
}

}  // namespace hotrow
