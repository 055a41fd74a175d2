#include "server/tiers/row_store_tier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/wire/status_codec.h"

namespace hotrow {
namespace {

// The lowest tier takes new rows up to this load. Above it sets run full one by one.
constexpr int64_t kNewRowsUpToPercent = 88;
constexpr int64_t kKeysAtATime = 65536;

// The rows of a store in slot order, then those beside it.
class StoreRange final : public RowRange {
 public:
  StoreRange(const RowStore& store, RowBlock beside)
      : store_(store), rest_(std::move(beside)), row_bytes_(store.layout().row_bytes) {}

  absl::Status Next(int64_t limit, RowBlock* rows) override {
    int64_t left = limit;
    if (cursor_ != -1) {
      store_.Scan(&cursor_, limit, &keys_, &slots_);
      for (size_t i = 0; i < keys_.size(); ++i) {
        rows->Add(keys_[i], store_.score(slots_[i]), store_.record(slots_[i]), row_bytes_);
      }
      left -= static_cast<int64_t>(keys_.size());
    }
    for (; left > 0 && next_ < rest_.size(); ++next_, --left) {
      rows->Add(rest_.keys[next_], rest_.scores[next_], rest_.record(next_, row_bytes_),
                row_bytes_);
    }
    return absl::OkStatus();
  }

 private:
  const RowStore& store_;
  const RowBlock rest_;
  const int64_t row_bytes_;
  int64_t cursor_ = 0;
  int64_t next_ = 0;
  std::vector<Key> keys_;
  std::vector<Slot> slots_;
};

}  // namespace

RowStoreTier::RowStoreTier(std::string name, std::unique_ptr<RowStore> store, Place place)
    : name_(std::move(name)),
      store_(std::move(store)),
      place_(place),
      row_bytes_(store_->layout().row_bytes) {}

absl::Status RowStoreTier::Find(const RowTargets& rows, Lookup lookup, std::span<uint8_t> found) {
  slots_.resize(rows.size());
  store_->Find(rows.keys, slots_);
  for (size_t i = 0; i < rows.size(); ++i) {
    found[i] = slots_[i] == kNoSlot ? 0 : 1;
    if (found[i] == 0) continue;
    std::memcpy(rows.records[i], store_->record(slots_[i]), row_bytes_);
    rows.scores[i] = store_->score(slots_[i]);
  }
  if (lookup == Lookup::kMove) store_->Erase(rows.keys);
  if (!beside_.empty()) FindBeside(rows, lookup, found);
  return absl::OkStatus();
}

void RowStoreTier::FindBeside(const RowTargets& rows, Lookup lookup, std::span<uint8_t> found) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = found[i] != 0 ? beside_.end() : beside_.find(rows.keys[i]);
    if (row == beside_.end()) continue;
    found[i] = 1;
    std::memcpy(rows.records[i], row->second.record.data(), row_bytes_);
    rows.scores[i] = row->second.score;
    if (lookup == Lookup::kMove) beside_.erase(row);
  }
}

absl::Status RowStoreTier::MayGrow() {
  if (place_ == Place::kAboveOthers) return absl::OkStatus();
  // While there is memory the store grows before its load comes near this.
  if (beside_.empty() && store_->rows() * 100 < store_->slots() * kNewRowsUpToPercent) {
    return absl::OkStatus();
  }
  return wire::ToStatus({.kind = wire::ErrorKind::kCapacityFull,
                         .message = fmt::format("the {} tier is full", name_),
                         .hint = "raise its budget, remove rows, or add shards"});
}

absl::Status RowStoreTier::MakeRoom(int64_t /*rows*/, Patience /*patience*/) {
  return absl::OkStatus();
}

void RowStoreTier::Upsert(const RowSources& rows, RowBlock* displaced) {
  slots_.resize(rows.size());
  created_.resize(rows.size());
  store_->FindOrClaim(rows.keys, slots_, created_,
                      place_ == Place::kAboveOthers ? displaced : nullptr);
  bool without_slot = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    without_slot |= slots_[i] == kNoSlot;
    if (slots_[i] == kNoSlot) continue;
    std::memcpy(store_->record(slots_[i]), rows.records[i], row_bytes_);
    store_->set_score(slots_[i], rows.scores[i]);
  }
  if (without_slot) KeepBeside(rows, displaced);
}

// The rows that found no slot: down, or beside the store where there is nothing below.
void RowStoreTier::KeepBeside(const RowSources& rows, RowBlock* displaced) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (slots_[i] != kNoSlot) continue;
    if (place_ == Place::kAboveOthers) {
      displaced->Add(rows.keys[i], rows.scores[i], rows.records[i], row_bytes_);
    } else {
      const std::byte* const record = rows.records[i];
      beside_[rows.keys[i]] = {rows.scores[i], {record, record + row_bytes_}};
    }
  }
}

void RowStoreTier::Remove(std::span<const Key> keys) {
  store_->Erase(keys);
  if (beside_.empty()) return;
  for (const Key key : keys) beside_.erase(key);
}

void RowStoreTier::AppendKeys(std::vector<Key>* keys) const {
  std::vector<Key> some;
  std::vector<Slot> slots;
  for (int64_t cursor = 0; cursor != -1;) {
    store_->Scan(&cursor, kKeysAtATime, &some, &slots);
    keys->insert(keys->end(), some.begin(), some.end());
  }
  for (const auto& [key, row] : beside_) keys->push_back(key);
}

absl::StatusOr<std::unique_ptr<RowRange>> RowStoreTier::Scan() {
  RowBlock beside;
  for (const auto& [key, row] : beside_) beside.Add(key, row.score, row.record.data(), row_bytes_);
  return std::make_unique<StoreRange>(*store_, std::move(beside));
}

TierSize RowStoreTier::Size() const {
  return {.rows = store_->rows() + rows_beside(),
          .used_bytes = store_->allocated_bytes() + rows_beside() * row_bytes_};
}

}  // namespace hotrow
