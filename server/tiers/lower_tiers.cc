#include "server/tiers/lower_tiers.h"

#include <cstddef>

namespace hotrow {

absl::Status LowerTiers::MakeRoom(int64_t rows, Patience patience) {
  for (const auto& tier : tiers_) {
    if (absl::Status status = tier->MakeRoom(rows, patience); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status LowerTiers::Fetch(std::span<const Key> keys, Lookup lookup, FetchedRows* rows) {
  rows->keys.assign(keys.begin(), keys.end());
  rows->scores.assign(keys.size(), 0);
  rows->tier.assign(keys.size(), kNotFound);
  rows->records.assign(keys.size() * layout_.row_bytes, std::byte{0});
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    const absl::Status status = FetchFrom(tier, lookup, rows);
    if (status.ok()) continue;
    if (lookup == Lookup::kMove) PutBack(*rows, tier);
    return status;
  }
  return absl::OkStatus();
}

// Looks in one tier for what those above it did not have.
absl::Status LowerTiers::FetchFrom(size_t tier, Lookup lookup, FetchedRows* rows) {
  keys_.clear();
  records_.clear();
  places_.clear();
  for (size_t i = 0; i < rows->keys.size(); ++i) {
    if (rows->found(i)) continue;
    keys_.push_back(rows->keys[i]);
    records_.push_back(rows->records.data() + i * layout_.row_bytes);
    places_.push_back(i);
  }
  if (keys_.empty()) return absl::OkStatus();
  scores_.assign(keys_.size(), 0);
  found_.assign(keys_.size(), 0);
  const absl::Status status = tiers_[tier]->Find({keys_, records_, scores_}, lookup, found_);
  if (!status.ok()) return status;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (found_[i] == 0) continue;
    rows->tier[places_[i]] = static_cast<uint8_t>(tier);
    rows->scores[places_[i]] = scores_[i];
  }
  return absl::OkStatus();
}

// Returns the rows that the first `tiers` tiers have handed over.
void LowerTiers::PutBack(const FetchedRows& rows, size_t tiers) {
  RowBlock taken;
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    if (!rows.found(i) || rows.tier[i] >= tiers) continue;
    taken.Add(rows.keys[i], rows.scores[i], rows.records.data() + i * layout_.row_bytes,
              layout_.row_bytes);
  }
  PutDown(taken);
}

void LowerTiers::PutDown(const RowBlock& rows) {
  displaced_.resize(tiers_.size());
  if (rows.size() > 0) PutInto(0, rows);
}

void LowerTiers::PutInto(size_t tier, const RowBlock& rows) {
  sources_.resize(rows.keys.size());
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    sources_[i] = rows.record(static_cast<int64_t>(i), layout_.row_bytes);
  }
  RowBlock& displaced = displaced_[tier];
  displaced.Clear();
  tiers_[tier]->Upsert({rows.keys, sources_, rows.scores}, &displaced);
  if (displaced.size() > 0) PutInto(tier + 1, displaced);
}

}  // namespace hotrow
