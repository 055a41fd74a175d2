// Table: the rows of one table on one strand, with the rules that change them.
//
// Thread safety: single writer; the strand calls every method.
// Ownership: owns its RowStore; draws memory from a budget and uses a workspace that outlive it.
// Shapes: rows are `dim` float32. Errors: callers check requests first (key range, gradient bound);
// the only outcome that is not success is a row refused for want of room, which is counted and
// visible as kNoSlot.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/histogram.h"
#include "kernels/row_store/row_store.h"
#include "server/table/row_batch.h"
#include "server/table/table_options.h"

namespace hotrow {

inline constexpr size_t kOptimizerKinds = static_cast<size_t>(OptimizerKind::kAdam) + 1;

// Since the process started. Strand only.
struct TableCounters {
  uint64_t rows_pulled = 0;
  uint64_t rows_pulled_initial = 0;
  uint64_t rows_pushed = 0;
  uint64_t rows_created = 0;
  uint64_t rows_refused = 0;
  uint64_t gradients_refused = 0;    // sub-pushes
  uint64_t gradients_nonfinite = 0;  // of them with a value that is not finite
  uint64_t keys_pushed = 0;          // as they came: a key twice in a sub-push counts twice
  uint64_t keys_pushed_unique = 0;
  uint64_t highest_step = 0;
};

// Times and lags of all tables of a strand, those that were dropped since included. Written by the
// strand only.
struct StrandHistograms {
  std::array<DurationHistogram, kOptimizerKinds> optimizer_apply;  // by OptimizerKind
  StepHistogram push_staleness;  // steps that a sub-push lies behind the highest one of its table
};

// Buffers shared by the tables of a strand, which runs one batch at a time.
struct TableWorkspace {
  std::vector<Slot> slots;
  std::vector<uint8_t> created;
  std::vector<std::byte*> records;
  std::vector<ConstRowPointer> gradients;
  std::vector<Key> fresh_keys;
  std::vector<RowPointer> fresh_rows;
  StrandHistograms histograms;
};

class Table {
 public:
  // kCapacityFull when the budget has no room, or the process no address space, for the smallest
  // store; the hint says which.
  static absl::StatusOr<std::unique_ptr<Table>> Create(TableOptions options, MemoryBudget& budget,
                                                       TableWorkspace& workspace);

  // False if a value is not finite or its magnitude is above the table's bound.
  bool GradientsInBound(std::span<const ConstRowPointer> rows) const;
  // False if a value is not finite.
  bool RowsFinite(std::span<const ConstRowPointer> rows) const;

  // Writes the row of keys[i], or its initial value, to rows[i]. Changes nothing but counters. Keys
  // may repeat. Returns how many of them are not stored.
  uint32_t Pull(std::span<const Key> keys, std::span<const RowPointer> rows);

  // Applies every row of the batch as a gradient; unknown keys are created from their initial
  // value. Fills the results of the parts and slots().
  void ApplyPush(RowBatch& batch);
  // Writes every row of the batch as weights; state and step count start afresh.
  void Upsert(RowBatch& batch);
  // Removes the keys of the batch; Part::updated counts those that were there.
  void Remove(RowBatch& batch);

  // All stored keys, in slot order.
  std::vector<Key> StoredKeys() const;
  // Appends {key, weights[, state]} of the keys that are still stored to `out`, without padding;
  // returns their number. `out` has room for all.
  int64_t CopyRecords(std::span<const Key> keys, bool with_state, std::byte* out);

  const TableOptions& options() const { return options_; }
  const RowLayout& layout() const { return store_->layout(); }
  TableCounters& counters() { return counters_; }
  int64_t rows() const { return store_->rows(); }
  int64_t slots() const { return store_->slots(); }
  int64_t allocated_bytes() const { return store_->allocated_bytes(); }

 private:
  Table(TableOptions options, std::unique_ptr<RowStore> store, TableWorkspace& workspace);

  void Claim(RowBatch& batch);
  void CountParts(RowBatch& batch);
  void InitializeCreated(RowBatch& batch);
  void CountSteps(std::span<const RowBatch::Part> parts);
  void ApplyRun(RowBatch& batch, std::span<const RowBatch::Part> run);

  TableOptions options_;
  std::unique_ptr<RowStore> store_;
  TableWorkspace& workspace_;
  TableCounters counters_;
};

}  // namespace hotrow
