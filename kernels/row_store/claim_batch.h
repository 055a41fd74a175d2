// ClaimBatch: gives the unknown keys of one FindOrClaim batch their slots.
//
// A key takes, in this order: an empty slot of its emptier candidate set; a slot freed by moving
// one unpinned row, or two in a chain, to their other sets; slots of more sets, when the table may
// still grow; under kEvictLowestScore the slot of the lowest unpinned score; otherwise none. Every
// slot that the batch has found or claimed is pinned; the pins are written only once a row has to
// move or leave.
//
// Thread safety: none; part of the store's single writer. Ownership: nothing; lives for one batch.
// Bounds: at most kMaxGrowRounds rounds of growth beyond the target load.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/row_store/row_store.h"
#include "kernels/row_store/set_table.h"
#include "kernels/row_store/slot_index.h"

namespace hotrow {

inline constexpr int kMaxGrowRounds = 8;

// The batch. All of one length.
struct ClaimKeys {
  std::span<const Key> keys;
  std::span<Slot> slots;
  std::span<uint8_t> created;
};

// Kept between batches, so that a steady state allocates nothing.
struct ClaimWorkspace {
  std::vector<int64_t> missing;  // places in the batch of the keys without a slot
};

class ClaimBatch {
 public:
  // `workspace->missing` names the keys that were not found.
  ClaimBatch(const ClaimKeys& batch, FullPolicy policy, SetTable* table, ClaimWorkspace* workspace)
      : batch_(batch), policy_(policy), table_(table), missing_(&workspace->missing) {}

  // `rows` are stored now. Adds what was done to *counts and evicted rows to *evicted.
  void Run(int64_t rows, EvictedRows* evicted, ClaimCounts* counts);

 private:
  // What becomes of a key for which there is no slot without evicting.
  enum class Last : uint8_t { kLeaveMissing, kApplyPolicy };

  void ClaimMissing(Last last);
  Slot ClaimOne(Key key, const Candidates& candidates, Last last);
  Slot SlotByForce(const Candidates& candidates, Last last);
  Slot EvictFrom(const Candidates& candidates);
  bool MayGrow(int rounds) const;
  void RefreshMovedSlots();
  void Pin(Slot slot);
  void PinAll();
  void UnpinAll();

  const ClaimKeys batch_;
  const FullPolicy policy_;
  SetTable* const table_;
  std::vector<int64_t>* const missing_;
  int64_t rows_ = 0;
  bool pinned_ = false;
  EvictedRows* evicted_ = nullptr;
  ClaimCounts* counts_ = nullptr;
};

}  // namespace hotrow
