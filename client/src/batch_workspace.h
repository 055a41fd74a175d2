// Memory that one batch of keys needs on its way: kept between batches, so that a steady state
// allocates little.
//
// Thread safety: the pool, from any thread; a workspace serves one batch at a time. Bounds: idle
// workspaces are at most kKeptWorkspaces and hold at most kKeptBytes together. A batch needs some
// 60 bytes a key, so that up to a million keys are free of allocations; the memory of a batch
// beyond that is given back with its end.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/dedupe/dedupe.h"

namespace hotrow::client {

// Unique keys grouped by where they go; the order within a group is that of the keys.
struct KeyGroups {
  std::vector<int32_t> order;   // (u) indices of unique keys, group by group
  std::vector<int32_t> starts;  // (groups + 1) start of each group in `order`
};

struct BatchWorkspace {
  // What it holds now, used or not.
  int64_t bytes() const;

  Deduper deduper;
  DuplicateSummer summer;
  KeyGroups groups;
  std::vector<uint16_t> group_of_key;       // (u)
  std::vector<int32_t> target_of_key;       // (u) where a unique key stands in groups.order
  std::vector<int32_t> targets;             // (n) the same for each occurrence
  std::vector<const UnalignedFloat*> rows;  // row addresses of one batch
};

class WorkspacePool {
 public:
  static constexpr size_t kKeptWorkspaces = 16;
  static constexpr int64_t kKeptBytes = int64_t{64} << 20;

  std::unique_ptr<BatchWorkspace> Take() {
    MutexLock lock(mutex_);
    if (idle_.empty()) return std::make_unique<BatchWorkspace>();
    std::unique_ptr<BatchWorkspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    idle_bytes_ -= workspace->bytes();
    return workspace;
  }
  // Keeps it for the next batch, or ends it.
  void Give(std::unique_ptr<BatchWorkspace> workspace) {
    const int64_t bytes = workspace->bytes();
    MutexLock lock(mutex_);
    if (idle_.size() == kKeptWorkspaces || idle_bytes_ + bytes > kKeptBytes) return;
    idle_bytes_ += bytes;
    idle_.push_back(std::move(workspace));
  }
  int64_t idle_bytes() const {
    MutexLock lock(mutex_);
    return idle_bytes_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<BatchWorkspace>> idle_ HOTROW_GUARDED_BY(mutex_);
  int64_t idle_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotrow::client
