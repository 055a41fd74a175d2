// TierStack: the rows of one table on one strand, over all tiers. Rows are worked on in the hot
// tier; what is not there is brought up from below, and what it displaces goes down.
//
//   Read       hot -> copy | misses -> warm -> cold -> copy, and up
//   Resolve    hot, or claimed there and filled from below; rows without a slot lie in scratch
//   Settle     scratch rows go down
//
// Each row has exactly one newest version: in hot, else in warm, else in the cold tier or on its
// way there. Without tiers below (and without a disk) this costs nothing beside the row store.
//
// Thread safety: single writer; the strand calls every method. Ownership: owns the tiers; uses a
// workspace that outlives it. Bounds: scratch holds one batch.
// Errors: kUnavailable or kDataLoss when a row cannot be brought up; nothing has changed then. New
// keys that find no room get kNoSlot.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/float_row.h"
#include "kernels/dedupe/dedupe.h"
#include "kernels/row_store/row_store.h"
#include "server/tiers/lower_tiers.h"
#include "server/tiers/row_store_tier.h"
#include "server/tiers/score_policy.h"

namespace hotrow {

enum class ReadKind : uint8_t {
  kTraining,  // moves scores, and rows between tiers
  kReadOnly,  // moves nothing
};

// Rows of pulls by where they were found. Since the process started.
struct TierReads {
  uint64_t hot = 0;
  uint64_t warm = 0;
  uint64_t cold = 0;
  uint64_t unknown = 0;
};

// Rows and bytes that went from tier to tier. Since the process started.
struct TierMoves {
  uint64_t promotions = 0;         // rows brought into hot
  uint64_t evictions = 0;          // rows displaced from hot
  uint64_t eviction_failures = 0;  // batches that could displace no row, as none could go down
  uint64_t read_failures = 0;
};

// Buffers shared by the stacks of a strand, which runs one batch at a time.
struct TierWorkspace {
  std::vector<Slot> slots;
  std::vector<uint8_t> created;
  std::vector<Key> missing;      // of a batch: keys that the hot tier does not have
  std::vector<size_t> places;    // and where they stand in the batch
  std::vector<uint8_t> refused;  // of `missing`: new keys that may not be created
  bool may_displace = false;     // rows of the hot tier can go down
  std::vector<Key> claimed;
  std::vector<Slot> claimed_slots;
  std::vector<uint8_t> claimed_created;
  FetchedRows fetched;  // one place for each of `missing`, or of the unique ones
  RowBlock down;
  Deduper deduper;
};

// The tiers of a table. Those that are null do not exist. The store of the hot tier evicts when
// there is a tier below it.
struct TierParts {
  std::unique_ptr<RowStore> hot;
  std::unique_ptr<RowStoreTier> warm;
  std::unique_ptr<Tier> cold;
};

class TierStack {
 public:
  TierStack(TierParts parts, ScorePolicy policy, TierWorkspace& workspace);

  // A batch is about to use `rows` rows at a training step.
  void Begin(int64_t rows, uint64_t step) { policy_.Begin(rows, hot_->slots(), step); }

  // Writes the weights of keys[i] to rows.rows[i]. Keys may repeat. `unknown` gets the places of
  // the keys that are not stored, whose rows are not written.
  absl::Status Read(std::span<const Key> keys, const RowsView& rows, ReadKind kind,
                    std::vector<size_t>* unknown);

  // slots[i]: where the row of keys[i] can be worked on until Settle, or kNoSlot for a new key that
  // finds no room. Keys are unique. created[i] is 1 for a new row, all zero bytes.
  absl::Status Resolve(std::span<const Key> keys, std::span<Slot> slots,
                       std::span<uint8_t> created);
  // Of a slot that Resolve gave. Whoever changes the record marks it kRowDirty.
  std::byte* record(Slot slot) {
    return slot >= 0 ? hot_->record(slot) : scratch_.data() + ScratchOffset(slot);
  }
  // Takes back what Resolve created, and puts the rest where it belongs.
  void Abandon(std::span<const Key> keys, std::span<const Slot> slots,
               std::span<const uint8_t> created);
  // Ends the work on what Resolve gave.
  void Settle(std::span<const Key> keys, std::span<const Slot> slots);

  // Forgets the rows; unknown keys are ignored. Keys are unique. removed[i] is 1 for rows that were
  // there.
  absl::Status Remove(std::span<const Key> keys, std::span<uint8_t> removed);

  // Writes the dirty ones of `limit` rows of the hot tier to the cold tier; they stay, clean.
  // *cursor: 0 to begin, -1 at the end. Every row that stays where it is meanwhile is met.
  absl::Status WriteBack(int64_t limit, int64_t* cursor);
  // The whole of both memory tiers. Afterwards the cold tier, with its queue, has every row.
  absl::Status WriteBackAll();

  // Keys of the rows that lie in memory tiers, in no order.
  std::vector<Key> KeysInMemory() const;
  int64_t rows_in_memory() const;
  // The newest versions, wherever they are, moving nothing; found[i] is 0 for the others. Keys are
  // unique.
  absl::Status ReadRecords(const RowTargets& rows, std::span<uint8_t> found);

  const RowLayout& layout() const { return hot_->layout(); }
  int64_t rows() const { return rows_; }  // stored, each once
  const RowStore& hot() const { return *hot_; }
  const RowStoreTier* warm() const { return warm_; }  // null when there is none
  const Tier* cold() const { return cold_; }          // null when there is none
  // The rows of the cold tier, older copies of rows above it among them; null without one.
  absl::StatusOr<std::unique_ptr<RowRange>> ScanCold() {
    if (cold_ == nullptr) return nullptr;
    return cold_->Scan();
  }
  const TierReads& reads() const { return reads_; }
  const TierMoves& moves() const { return moves_; }

 private:
  static Slot ScratchSlot(size_t i) { return -2 - static_cast<Slot>(i); }
  int64_t ScratchOffset(Slot slot) const { return (-2 - slot) * layout().row_bytes; }
  bool MayEvict() const { return policy_.kind() != EvictionKind::kNone; }

  // Notes the keys without a slot in work_.missing and work_.places.
  bool FindMissing(std::span<const Key> keys, std::span<const Slot> slots);
  absl::Status ReadBelow(const RowsView& rows, ReadKind kind, std::vector<size_t>* unknown);
  void CopyFetched(const RowsView& rows, std::vector<size_t>* unknown);
  void Promote();
  absl::Status BringUp(std::span<const Key> keys, std::span<Slot> slots,
                       std::span<uint8_t> created);
  absl::Status FetchForPush();
  void Claim(std::span<const Key> keys, std::span<Slot> slots, std::span<uint8_t> created);
  void PlaceFetched(std::span<Slot> slots, std::span<uint8_t> created);
  void Place(size_t i, Slot slot);
  absl::Status RemoveBelow(std::span<const Key> keys, std::span<uint8_t> removed);
  absl::Status MoveWarmDown(std::span<const Key> keys);
  void PutDown();
  void PutInto(Tier& tier);

  const std::unique_ptr<RowStore> hot_;
  RowStoreTier* const warm_;  // in lower_
  Tier* const cold_;          // in lower_
  LowerTiers lower_;
  ScorePolicy policy_;
  TierWorkspace& work_;
  std::vector<std::byte> scratch_;  // records of the batch that found no slot
  std::vector<uint32_t> scratch_scores_;
  int64_t rows_ = 0;
  TierReads reads_;
  TierMoves moves_;
};

}  // namespace hotrow
