// Unique keys of a batch by sorting, with the result of Deduper: unique keys in the order of their
// first occurrence. The bodies of a device.
//
//   sort (key, number)  ->  equal keys stand together, each run led by its first occurrence
//   mark the occurrences that lead a run; their numbers among each other are the unique positions
//
// Positions in the order of first occurrence make the result independent of the sort, and equal to
// the host's hash table, which meets the keys in that order.
//
// Thread safety: items of one stage run beside each other. Ownership: nothing. Shapes: arrays (n).

#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/base/key.h"
#include "kernels/base/position.h"

namespace hotrow {

struct SortedKeysView {
  const Key* keys = nullptr;       // sorted
  const int32_t* order = nullptr;  // occurrence of each
  int64_t n = 0;
  Key skip = 0;
  uint32_t skips = 0;  // 1 when `skip` is to be left out

  HOTROW_HOST_DEVICE bool LeadsRun(int64_t j) const { return j == 0 || keys[j - 1] != keys[j]; }
  HOTROW_HOST_DEVICE bool IsSkipped(int64_t j) const { return skips != 0 && keys[j] == skip; }
};

// What the scans between the stages count.
struct DedupeMarks {
  int32_t* leads_run = nullptr;    // by place in the sorted order: 1 for the first of a run
  int32_t* runs_before = nullptr;  // its sums: runs that begin before
  int32_t* is_first = nullptr;     // by occurrence: 1 for the first of a key that counts
  int32_t* position = nullptr;     // its sums: the key's position, at that occurrence
  int32_t* first_of = nullptr;     // by run: its first occurrence
};

// Place j of the sorted order says whether it leads a run, to itself and to its occurrence.
struct MarkRunsStage {
  static constexpr const char* kName = "mark_runs";
  SortedKeysView sorted;
  DedupeMarks marks;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t j) const {
    tile.Leader(0, [&] {
      const bool leads = sorted.LeadsRun(j);
      marks.leads_run[j] = leads ? 1 : 0;
      marks.is_first[sorted.order[j]] = leads && !sorted.IsSkipped(j) ? 1 : 0;
      return 0;
    });
  }
};

// After the scan of leads_run: run r learns its first occurrence from the place that leads it.
struct NameRunsStage {
  static constexpr const char* kName = "name_runs";
  SortedKeysView sorted;
  DedupeMarks marks;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t j) const {
    tile.Leader(0, [&] {
      if (marks.leads_run[j] != 0) marks.first_of[marks.runs_before[j]] = sorted.order[j];
      return 0;
    });
  }
};

// After the scan of is_first: each occurrence gets the position of its run's first, and the place
// that leads the run writes the key there.
struct WriteUniqueStage {
  static constexpr const char* kName = "write_unique";
  SortedKeysView sorted;
  DedupeMarks marks;
  Key* unique;       // the first *count are written
  int32_t* inverse;  // (n)
  int32_t* count;    // one number

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t j) const {
    tile.Leader(0, [&] {
      const int32_t run = marks.runs_before[j] - (marks.leads_run[j] != 0 ? 0 : 1);
      const int32_t position = marks.position[marks.first_of[run]];
      inverse[sorted.order[j]] = sorted.IsSkipped(j) ? kSkippedPosition : position;
      if (marks.leads_run[j] != 0 && !sorted.IsSkipped(j)) unique[position] = sorted.keys[j];
      const int64_t last = sorted.n - 1;
      if (j == last) *count = marks.position[last] + marks.is_first[last];
      return 0;
    });
  }
};

}  // namespace hotrow
