// ClaimBatch: gives the unknown keys of one FindOrClaim batch their slots.
//
// The keys take, each pass in the order of the batch:
//   1  an empty slot of their emptier candidate set
//   2  a slot freed by moving one unpinned row, or two in a chain, to their other sets
//   -  and both again with more sets, when the table may still grow
//   3  under kEvictLowestScore the slot of the lowest unpinned score; otherwise none
// Every slot that the batch has found or claimed is pinned; the pins are written only once a row
// has to move or leave.
//
// Thread safety: part of the store's single writer; the first pass runs on the threads of the
// store's space, with the outcome of one thread (claim_stages.h). Ownership: nothing; lives for one
// batch. Bounds: at most kMaxGrowRounds rounds of growth beyond the target load.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/row_store/claim_stages.h"
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
  std::vector<int64_t> missing;        // places in the batch of the keys without a slot
  std::vector<int64_t> full;           // those of them that have no empty slot
  std::vector<uint64_t> reservations;  // a power of two of words; of several threads only
  uint32_t round = 0;                  // last one that wrote reservations
};

class ClaimBatch {
 public:
  // `workspace->missing` names the keys that were not found.
  ClaimBatch(const ClaimKeys& batch, FullPolicy policy, SetTable* table, ClaimWorkspace* workspace)
      : batch_(batch),
        policy_(policy),
        table_(table),
        workspace_(workspace),
        missing_(&workspace->missing) {}

  // `rows` are stored now. Adds what was done to *counts and evicted rows to *evicted.
  void Run(int64_t rows, RowBlock* evicted, ClaimCounts* counts);

 private:
  // The first two passes over all missing keys, in the order of the batch.
  void ClaimMissing();
  void ClaimInRounds();
  void ClaimOneByOne();
  void ClaimDisplaced();
  void ClaimEvicted();
  template <typename FreeSlot>
  void ClaimFreed(const FreeSlot& free_slot);
  ReservationView NextRound();
  void CountRound();
  template <typename Tile>
  bool IsFoundNow(const Tile& tile, int64_t i, Probe* probe);
  template <typename Tile>
  void Take(const Tile& tile, int64_t i, Slot slot, uint8_t digest);
  void SaveEvicted(Slot slot);
  bool MayGrow(int rounds) const;
  void RefreshMovedSlots();
  void Pin(Slot slot);
  void PinAll();
  void UnpinAll();

  const ClaimKeys batch_;
  const FullPolicy policy_;
  SetTable* const table_;
  ClaimWorkspace* const workspace_;
  std::vector<int64_t>* const missing_;
  int64_t rows_ = 0;
  bool pinned_ = false;
  RowBlock* evicted_ = nullptr;
  ClaimCounts* counts_ = nullptr;
};

}  // namespace hotrow
