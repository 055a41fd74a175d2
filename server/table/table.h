// Table: the rows of one table on one strand, with the rules that change them.
//
// A batch that changes rows is resolved first, in all tables of a message, and applied when that
// has succeeded in all of them:
//
//   Resolve -> ApplyPush or Upsert        what Resolve created, Abandon takes back
//
// Thread safety: single writer; the strand calls every method.
// Ownership: owns its tiers; draws from a supply and uses a workspace that outlive it.
// Shapes: rows are `dim` float32. Errors: callers check requests first (key range, gradient bound).
// A new row refused for want of room is no error: it is counted and visible as kNoSlot. Rows that
// cannot be read give kUnavailable or kDataLoss, and nothing has changed then.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/histogram.h"
#include "server/table/row_batch.h"
#include "server/table/table_options.h"
#include "server/table/table_tiers.h"

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
  TierWorkspace tiers;
  std::vector<size_t> unknown;
  std::vector<std::byte*> records;
  std::vector<std::byte> copies;
  std::vector<uint32_t> scores;
  std::vector<uint8_t> found;
  std::vector<ConstRowPointer> gradients;
  std::vector<Key> fresh_keys;
  std::vector<RowPointer> fresh_rows;
  StrandHistograms histograms;
};

class Table {
 public:
  // Errors as MakeTiers.
  static absl::StatusOr<std::unique_ptr<Table>> Create(TableOptions options,
                                                       const TierSupply& supply,
                                                       TableWorkspace& workspace);

  // False if a value is not finite or its magnitude is above the table's bound.
  bool GradientsInBound(std::span<const ConstRowPointer> rows) const;
  // False if a value is not finite.
  bool RowsFinite(std::span<const ConstRowPointer> rows) const;

  // Writes the row of keys[i], or its initial value, to rows[i]. Changes no row; of kTraining, rows
  // may change their tier. Keys may repeat. Returns how many of them are not stored.
  absl::StatusOr<uint32_t> Pull(std::span<const Key> keys, std::span<const RowPointer> rows,
                                ReadKind kind);

  // Finds a place for every row of the batch, unknown keys included. Until ApplyPush, Upsert or
  // Abandon nothing else of the table is called.
  absl::Status Resolve(RowBatch& batch);
  // Forgets the rows that Resolve has created.
  void Abandon(RowBatch& batch);
  // Applies every row of the batch as a gradient; new rows start from their initial value. Fills
  // the results of the parts.
  void ApplyPush(RowBatch& batch);
  // Writes every row of the batch as weights; state and step count start afresh.
  void Upsert(RowBatch& batch);
  // Removes the keys of the batch; Part::updated counts those that were there.
  absl::Status Remove(RowBatch& batch);

  // Appends {key, weights[, state]} of the keys that are still stored to `out`, without padding;
  // returns their number. `out` has room for all.
  absl::StatusOr<int64_t> CopyRecords(std::span<const Key> keys, bool with_state, std::byte* out);

  const TableOptions& options() const { return options_; }
  const RowLayout& layout() const { return tiers_.layout(); }
  TierStack& tiers() { return tiers_; }
  const TierStack& tiers() const { return tiers_; }
  TableCounters& counters() { return counters_; }
  int64_t rows() const { return tiers_.rows(); }
  int64_t slots() const { return tiers_.hot().slots(); }
  int64_t allocated_bytes() const;  // of memory

 private:
  Table(TableOptions options, TierParts tiers, TableWorkspace& workspace);

  void CountParts(RowBatch& batch);
  void InitializeCreated(RowBatch& batch);
  void CountSteps(std::span<const RowBatch::Part> parts);
  void ApplyRun(RowBatch& batch, std::span<const RowBatch::Part> run);

  TableOptions options_;
  TableWorkspace& workspace_;
  TierStack tiers_;
  TableCounters counters_;
};

}  // namespace hotrow
