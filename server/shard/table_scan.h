// TableScan: a running scan of one table, and the set of those that run.
//
// A scan takes the list of stored keys when it starts, and then reads batches of them: keys created
// later do not come, keys removed meanwhile are left out, and every other row comes once, with the
// values of the moment it is read. The list is taken in one piece, because rows move between slots
// while a store grows and a list taken in parts could miss some: the strand does nothing else
// meanwhile, some 20 ms a million rows.
//
// Thread safety: Start and Next are strand only; a TableScan may be destroyed by any thread.
// Ownership: whoever runs the scan owns it; ScanSet only watches. Bounds: kMaxScans at once; the
// key list is taken from the memory budget (8 bytes a row) and given back at the end. A scan that
// was idle for kIdleLimit is ended when its place is needed.
// Errors: kOverloaded when all places are taken or the budget has no room for the keys.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/memory_budget.h"
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

  TableScan(ScanRange range, std::vector<Key> keys, std::shared_ptr<MemoryBudget> budget);
  ~TableScan();
  TableScan(const TableScan&) = delete;
  TableScan& operator=(const TableScan&) = delete;

  // The next rows that are still stored; row_count 0 at the end.
  ScanReply Next(Table& table);
  // Ends the scan early and gives its keys back, because it was idle and its place was needed.
  void Expire();

  uint32_t table_id() const { return range_.table_id; }
  bool ended() const { return ended_; }
  bool expired() const { return expired_; }

  TimePoint last_used;

 private:
  void End();

  const ScanRange range_;
  std::vector<Key> keys_;
  size_t next_ = 0;
  bool ended_ = false;
  bool expired_ = false;
  const std::shared_ptr<MemoryBudget> budget_;  // shared: a scan may outlive the shard
};

class ScanSet {
 public:
  static constexpr size_t kMaxScans = 4;
  static constexpr std::chrono::seconds kIdleLimit{60};

  absl::StatusOr<std::shared_ptr<TableScan>> Start(ScanRange range, Table& table,
                                                   std::shared_ptr<MemoryBudget> budget,
                                                   TableScan::TimePoint now);

 private:
  std::weak_ptr<TableScan>* FreePlace(TableScan::TimePoint now);

  std::array<std::weak_ptr<TableScan>, kMaxScans> scans_;  // weak: an abandoned scan is gone
};

// Rows per batch: at most `wanted` (0: as many as fit 1 MiB), and never more than fit a message.
int64_t ScanBatchRows(uint32_t wanted, const RowLayout& layout, bool with_state);

}  // namespace hotrow
