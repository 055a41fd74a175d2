// Writing the dirty rows of a TierStack's memory tiers to its cold tier.

#include <algorithm>

#include "server/tiers/tier_stack.h"

namespace hotrow {
namespace {

constexpr int64_t kRowsAtATime = 4096;

}  // namespace

absl::Status TierStack::WriteBack(int64_t limit, int64_t* cursor) {
  if (cold_ == nullptr) {
    *cursor = -1;
    return absl::OkStatus();
  }
  if (absl::Status status = cold_->MakeRoom(limit, Patience::kBounded); !status.ok()) return status;
  hot_->Scan(cursor, limit, &work_.claimed, &work_.slots);
  work_.down.Clear();
  for (size_t i = 0; i < work_.slots.size(); ++i) {
    std::byte* const record = hot_->record(work_.slots[i]);
    RowMeta* const meta = layout().meta(record);
    if ((meta->flags & kRowDirty) == 0) continue;
    work_.down.Add(work_.claimed[i], hot_->score(work_.slots[i]), record, layout().row_bytes);
    meta->flags = kRowBelow;
  }
  PutInto(*cold_);
  return absl::OkStatus();
}

absl::Status TierStack::WriteBackAll() {
  for (int64_t cursor = 0; cursor != -1;) {
    if (absl::Status status = WriteBack(kRowsAtATime, &cursor); !status.ok()) return status;
  }
  if (warm_ == nullptr || cold_ == nullptr) return absl::OkStatus();
  std::vector<Key> keys;
  warm_->AppendKeys(&keys);
  const std::span<const Key> all = keys;
  for (size_t begin = 0; begin < all.size(); begin += kRowsAtATime) {
    const size_t count = std::min<size_t>(kRowsAtATime, all.size() - begin);
    if (absl::Status status = MoveWarmDown(all.subspan(begin, count)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Rows of the warm tier, by key, to the cold tier.
absl::Status TierStack::MoveWarmDown(std::span<const Key> keys) {
  const auto count = static_cast<int64_t>(keys.size());
  if (absl::Status status = cold_->MakeRoom(count, Patience::kBounded); !status.ok()) return status;
  const int64_t row_bytes = layout().row_bytes;
  std::vector<std::byte> records(count * row_bytes);
  std::vector<std::byte*> targets(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) targets[i] = records.data() + i * row_bytes;
  std::vector<uint32_t> scores(keys.size());
  std::vector<uint8_t> found(keys.size());
  if (absl::Status status = warm_->Find({keys, targets, scores}, Lookup::kMove, found);
      !status.ok()) {
    return status;
  }
  work_.down.Clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (found[i] != 0) work_.down.Add(keys[i], scores[i], targets[i], row_bytes);
  }
  PutInto(*cold_);
  return absl::OkStatus();
}

// What lies in work_.down, past the tiers between.
void TierStack::PutInto(Tier& tier) {
  std::vector<const std::byte*> sources(work_.down.keys.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i] = work_.down.record(static_cast<int64_t>(i), layout().row_bytes);
  }
  RowBlock displaced;  // the lowest tier displaces nothing
  tier.Upsert({work_.down.keys, sources, work_.down.scores}, &displaced);
  work_.down.Clear();
}

int64_t TierStack::rows_in_memory() const {
  return hot_->rows() + (warm_ == nullptr ? 0 : warm_->Size().rows);
}

std::vector<Key> TierStack::KeysInMemory() const {
  std::vector<Key> all;
  all.reserve(rows_in_memory());
  std::vector<Key> keys;
  std::vector<Slot> slots;
  for (int64_t cursor = 0; cursor != -1;) {
    hot_->Scan(&cursor, kRowsAtATime, &keys, &slots);
    all.insert(all.end(), keys.begin(), keys.end());
  }
  if (warm_ != nullptr) warm_->AppendKeys(&all);
  return all;
}

}  // namespace hotrow
