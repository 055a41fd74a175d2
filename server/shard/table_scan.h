// TableScan: a running scan of one table, and the set of those that run.
//
// A scan takes the lists of the keys in memory when it starts, strand by strand, and a view of the
// cold tier as it is at that moment. Then it reads batches of the listed rows, with the values of
// the moment each is read, and after them the rows of the cold tier that are in no list, with those
// of the start. Keys created later do not come, listed keys removed meanwhile are left out, and
// every other row comes once. The list of a strand is taken in one piece, because rows move between
// slots while a store grows and a list taken in parts could miss some: the strand does nothing else
// meanwhile, some 20 ms a million rows.
//
// Thread safety: AddKeys and Next in tasks of the strand that they are about; everything, and the
// end of a scan, from any thread.
// Ownership: whoever runs the scan owns it; ScanSet only watches. Bounds: kMaxScans at once; the
// key list is taken from the memory budget (8 bytes a row) and given back at the end. One of them
// may have its list beside the budget: rows can be saved from a shard that is full. A scan that was
// idle for kIdleLimit is ended when its place or its memory is needed by another.
// Errors: kOverloaded when all places are taken or the budget has no room for the keys.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/memory_budget.h"
#include "kernels/base/mutex.h"
#include "server/shard/shard.h"
#include "server/table/table.h"

namespace hotrow {

struct ScanRange {
  uint32_t table_id = 0;
  int64_t batch_rows = 0;
  bool with_state = false;
};

class TableScan {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // What the lists of keys are counted in, and what the rows below lie in. Shared: a scan may
  // outlive the shard.
  struct Memory {
    std::shared_ptr<const void> store;
    std::shared_ptr<MemoryBudget> budget;
    std::shared_ptr<std::atomic<bool>> beside_taken;  // by the one list that is not in the budget
  };

  TableScan(ScanRange range, Memory memory, TimePoint now);
  ~TableScan();
  TableScan(const TableScan&) = delete;
  TableScan& operator=(const TableScan&) = delete;

  // Adds the rows that the next strand holds. kOverloaded when the budget has no room for their
  // keys.
  absl::Status AddKeys(Table& table);
  // The strand whose rows come next, and rows of it that are still stored; row_count 0 after its
  // last one, and at the end of all. kDeadlineExceeded once the scan has been ended early: never
  // the end of a list that was not read to its end.
  int strand() const;
  bool AtEnd() const;
  absl::StatusOr<ScanReply> Next(Table& table, TimePoint now);
  // Ends the scan early and gives its keys back, because it was idle and its place was needed.
  // False when it was used after `used_before`.
  bool ExpireIfIdle(TimePoint used_before);

  uint32_t table_id() const { return range_.table_id; }
  bool ended() const;

 private:
  bool TakeMemory(int64_t bytes) HOTROW_EXCLUDES(mutex_);
  void End() HOTROW_REQUIRES(mutex_);
  void SkipEmpty() HOTROW_REQUIRES(mutex_);
  absl::StatusOr<int64_t> ReadListed(Table& table, std::byte* out) HOTROW_REQUIRES(mutex_);
  absl::StatusOr<int64_t> ReadBelow(const RowLayout& layout, std::byte* out)
      HOTROW_REQUIRES(mutex_);

  const ScanRange range_;
  const Memory memory_;

  mutable Mutex mutex_;
  // What is still to come of each strand.
  struct Rest {
    std::vector<Key> keys;            // listed, sorted when there is a cold tier
    size_t next = 0;                  // of them
    std::unique_ptr<RowRange> below;  // null: there is none, or it has been read
    bool empty() const { return next == keys.size() && below == nullptr; }
  };

  std::vector<Rest> rests_ HOTROW_GUARDED_BY(mutex_);  // by strand
  size_t strand_ HOTROW_GUARDED_BY(mutex_) = 0;
  RowBlock rows_ HOTROW_GUARDED_BY(mutex_);  // workspace
  int64_t budgeted_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool beside_budget_ HOTROW_GUARDED_BY(mutex_) = false;
  bool ended_ HOTROW_GUARDED_BY(mutex_) = false;
  bool expired_ HOTROW_GUARDED_BY(mutex_) = false;
  TimePoint last_used_ HOTROW_GUARDED_BY(mutex_);
};

// What a scan of a shard shares with it.
struct ScanSupply {
  std::shared_ptr<MemoryBudget> budget;
  std::shared_ptr<const void> store;  // null: no cold tier
};

class ScanSet {
 public:
  static constexpr size_t kMaxScans = 4;
  static constexpr std::chrono::seconds kIdleLimit{60};

  // A scan that has its place and no keys yet. Any thread.
  absl::StatusOr<std::shared_ptr<TableScan>> Start(ScanRange range, const ScanSupply& supply,
                                                   TableScan::TimePoint now);
  // TableScan::AddKeys, for which idle scans are ended where there is no room. In a task of the
  // strand.
  absl::Status AddKeys(TableScan& scan, Table& table, TableScan::TimePoint now);

 private:
  // Whether there was one.
  bool ExpireIdle(TableScan::TimePoint now);
  std::weak_ptr<TableScan>* FreePlace(TableScan::TimePoint now) HOTROW_REQUIRES(mutex_);

  const std::shared_ptr<std::atomic<bool>> beside_taken_ =
      std::make_shared<std::atomic<bool>>(false);
  Mutex mutex_;
  // Weak: an abandoned scan is gone.
  std::array<std::weak_ptr<TableScan>, kMaxScans> scans_ HOTROW_GUARDED_BY(mutex_);
};

// Rows per batch: at most `wanted` (0: as many as fit 1 MiB), and never more than fit a message.
int64_t ScanBatchRows(uint32_t wanted, const RowLayout& layout, bool with_state);

}  // namespace hotrow
