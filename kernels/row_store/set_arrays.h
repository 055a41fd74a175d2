// SetArrays: the memory of a row store: one array per property of a slot, all long enough for the
// same number of sets, and paid for from a budget.
//
// Thread safety: none; one owner. Ownership: gives everything back to the budget when destroyed.
// Bounds: committed bytes follow the sets by at most one granule per array: 16 KiB for small
// arrays, 2 MiB for large ones.

#pragma once

#include <array>
#include <cstdint>

#include "kernels/base/memory_budget.h"
#include "kernels/base/result.h"
#include "kernels/row_store/reserved_memory.h"
#include "kernels/row_store/slot_index.h"

namespace hotrow {

class SetArrays {
 public:
  // Reserves address space for the sets that `max_sets` and the limit of `budget` allow, commits
  // nothing. Where there is no such piece, half of it, and so on down to kFewestSets: stores made
  // late are then full before the budget is, and as much as was taken is left for everything else.
  // kUnavailable when there is not even that.
  static ResultOr<SetArrays> Reserve(int slots_per_set, int64_t row_bytes, int64_t max_sets,
                                     MemoryBudget& budget);
  SetArrays(SetArrays&& other) noexcept;
  SetArrays& operator=(SetArrays&&) = delete;
  ~SetArrays();

  // Commits memory for `sets` sets. False, and nothing changed, when the budget or the system has
  // no more.
  bool Grow(int64_t sets);

  // Gives back what `sets` sets do not need, once that is more than a granule.
  void Shrink(int64_t sets);

  void PointTo(SlotIndexView* view) const;
  int64_t max_sets() const { return max_sets_; }
  int64_t committed_bytes() const;

 private:
  static constexpr int64_t kFewestSets = 1024;
  static constexpr int kArrays = 5;  // digests, keys, scores, pins, records
  using Sizes = std::array<int64_t, kArrays>;

  explicit SetArrays(MemoryBudget& budget) : budget_(&budget) {}
  Result ReserveSets(int64_t sets);
  bool CommitSizes(const Sizes& sizes);
  Sizes SizesFor(int64_t sets, int64_t granule_limit_bytes) const;

  MemoryBudget* budget_;
  Sizes set_bytes_{};  // of one set in each array
  int64_t max_sets_ = 0;
  std::array<ReservedMemory, kArrays> arrays_;
};

}  // namespace hotrow
