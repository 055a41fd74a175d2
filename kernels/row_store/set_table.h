// SetTable: the sets of a row store and their memory: how many there are, and when there should be
// more or fewer.
//
// Thread safety: none; one owner. Ownership: the memory of all arrays.
// Bounds: grows while the load exceeds kTargetLoadPercent and the budget lasts; the load may then
// rise to 100 %. Slots change only in Grow and Shrink.

#pragma once

#include <cstdint>
#include <utility>

#include "kernels/row_store/set_arrays.h"
#include "kernels/row_store/set_resize.h"
#include "kernels/space/host_space.h"

namespace hotrow {

inline constexpr int64_t kTargetLoadPercent = 82;
inline constexpr int64_t kShrinkLoadPercent = 50;

class SetTable {
 public:
  // `arrays` holds memory for one set at least.
  SetTable(SetArrays arrays, int64_t row_bytes, uint64_t table_salt, int slots_per_set,
           const HostSpace& space)
      : arrays_(std::move(arrays)), space_(space) {
    arrays_.PointTo(&index_);
    index_.row_bytes = row_bytes;
    index_.table_salt = table_salt;
    index_.slots_per_set = slots_per_set;
    index_.SetCount(1);
  }

  const SlotIndexView& index() const { return index_; }
  const HostSpace& space() const { return space_; }
  int64_t slots() const { return index_.sets * index_.slots_per_set; }
  int64_t committed_bytes() const { return arrays_.committed_bytes(); }
  bool at_limit() const { return index_.sets >= arrays_.max_sets(); }

  bool AboveTarget(int64_t rows) const { return rows * 100 > slots() * kTargetLoadPercent; }

  // Adds sets until `rows` rows keep to the target load. True when any set was added: rows have
  // moved.
  bool GrowFor(int64_t rows) {
    const int64_t before = index_.sets;
    while (AboveTarget(rows) && AddSet()) {
    }
    return index_.sets != before;
  }

  // Adds up to `sets` sets, whatever the load. True when any set was added.
  bool GrowBy(int64_t sets) {
    const int64_t before = index_.sets;
    while (index_.sets - before < sets && AddSet()) {
    }
    return index_.sets != before;
  }

  // Removes up to `most_sets` sets while `rows` rows leave the load below kShrinkLoadPercent.
  void ShrinkFor(int64_t rows, int64_t most_sets) {
    const int64_t before = index_.sets;
    while (index_.sets > 1 && before - index_.sets < most_sets &&
           rows * 100 < slots() * kShrinkLoadPercent && RemoveSet()) {
    }
    if (index_.sets != before) arrays_.Shrink(index_.sets);
  }

 private:
  bool AddSet() {
    if (at_limit() || !arrays_.Grow(index_.sets + 1)) return false;
    space_.WithTile([&](const auto& tile) { SplitIntoNewSet(tile, &index_); });
    return true;
  }

  bool RemoveSet() {
    bool removed = false;
    space_.WithTile([&](const auto& tile) { removed = MergeLastSet(tile, &index_); });
    return removed;
  }

  SetArrays arrays_;
  HostSpace space_;
  SlotIndexView index_;
};

}  // namespace hotrow
