// RowStore: the rows of one table in one memory space, found by key. Set-associative, correct at
// load 1.0, for any 64-bit key and more than 2^31 slots.
//
//   set s:  digests (1 byte a slot)  | keys (8 bytes) | scores (4 bytes) | row records (row_bytes)
//           0 = empty, else occupied    each array contiguous over all sets, in reserved address
//           space that is
//                                       committed in granules
//
// A key may live in either of two candidate sets; rows are addressed by slot number, never by
// pointer. The number of sets grows and shrinks one by one (linear hashing, Litwin 1980): no rehash
// pause, no sizing by the user. Slot numbers are valid until the next call that may claim, erase or
// resize.
//
// Thread safety: single writer; one thread at a time calls any method. A batch runs on the threads
// of options.space; their number changes no slot and no bit.
// Bounds: at most `budget` bytes committed; a key that finds no slot is reported, never dropped.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "kernels/base/memory_budget.h"
#include "kernels/base/result.h"
#include "kernels/base/row_layout.h"
#include "kernels/row_store/row_block.h"
#include "kernels/row_store/slot.h"
#include "kernels/space/host_space.h"

namespace hotrow {

enum class FullPolicy : uint8_t {
  kRefuse,            // a new key that finds no slot gets kNoSlot
  kEvictLowestScore,  // it takes the slot of the lowest score in its sets that this batch has not
                      // touched
};

struct RowStoreOptions {
  RowLayout layout;
  uint64_t table_salt = 0;
  int slots_per_set = 32;                // 32 or 64; tests may ask for 4
  int64_t max_slots = int64_t{1} << 40;  // a further limit beside the budget
  FullPolicy full_policy = FullPolicy::kRefuse;
  HostSpace space;  // runs the batches; its team, if any, outlives the store
};

// Outcome of a FindOrClaim batch.
struct ClaimCounts {
  int64_t found = 0;
  int64_t created = 0;
  int64_t refused = 0;  // got kNoSlot
  int64_t evicted = 0;
};

class RowStore {
 public:
  // `budget` is shared by all stores of a tier and outlives them. Reserves address space, commits
  // one granule per array (about 100 KiB). kInvalidArgument: layout not made by RowLayout::Of with
  // dim >= 1, slots_per_set not offered, max_slots below one set. kResourceExhausted: no budget for
  // the first set. kUnavailable: no address space (see SetArrays).
  static ResultOr<std::unique_ptr<RowStore>> Create(const RowStoreOptions& options,
                                                    MemoryBudget& budget);
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  // slots[i] = slot of keys[i], or kNoSlot. Changes nothing. Keys may repeat.
  void Find(std::span<const Key> keys, std::span<Slot> slots) const;

  // Like Find, and claims a slot for each key that has none. Keys are unique. created[i] becomes 1
  // for a claimed slot, whose record is all zero bytes and whose score is 0: nothing of a former
  // row shows through; 0 otherwise. A key of the batch never moves or evicts another: of a batch
  // that does not fit, the rest get kNoSlot. `evicted` gets the rows that had to leave appended, in
  // order of eviction; without it (null) none leaves, whatever the policy.
  ClaimCounts FindOrClaim(std::span<const Key> keys, std::span<Slot> slots,
                          std::span<uint8_t> created, RowBlock* evicted);

  // Removes keys; unknown ones are ignored. Returns the number removed and gives memory back when
  // much is unused.
  int64_t Erase(std::span<const Key> keys);

  // Up to `limit` stored keys and their slots, from *cursor (0 to begin) in slot order; *cursor is
  // -1 at the end. limit > 0; *keys and *slots are overwritten. Exact only while no key is claimed
  // or erased in between.
  void Scan(int64_t* cursor, int64_t limit, std::vector<Key>* keys, std::vector<Slot>* slots) const;

  // Copies the weights of slots[i] to rows.rows[i]; kNoSlot is skipped. Prefetches ahead.
  void CopyWeights(std::span<const Slot> slots, const RowsView& rows) const;

  void SetScores(std::span<const Slot> slots, uint32_t score);
  // What eviction goes by: the lowest leaves first. Moves with its row.
  uint32_t score(Slot slot) const { return scores_[slot]; }
  void set_score(Slot slot, uint32_t score) { scores_[slot] = score; }

  std::byte* record(Slot slot) const { return records_ + slot * layout_.row_bytes; }
  const RowLayout& layout() const { return layout_; }
  int64_t rows() const;
  int64_t slots() const;            // sets x slots_per_set
  int64_t allocated_bytes() const;  // committed, index included

 private:
  struct Impl;
  RowStore(const RowLayout& layout, std::unique_ptr<Impl> impl);

  const RowLayout layout_;
  const std::unique_ptr<Impl> impl_;
  std::byte* const records_;  // (slots) records; never moves
  uint32_t* const scores_;    // (slots); never moves
};

}  // namespace hotrow
