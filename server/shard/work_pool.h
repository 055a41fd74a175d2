// WorkPool: keeps the objects that requests are worked on with, and their buffers, from one request
// to the next.
//
// Thread safety: Take, and the end of what it gave, from any thread. Ownership: what was taken
// returns by itself; the pool outlives it. Bounds: kKept objects wait, each after its Rest(), which
// forgets the request and keeps no more than the object bounds.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/base/mutex.h"

namespace hotrow {

template <typename Work>
class WorkPool {
 public:
  static constexpr size_t kKept = 16;

  // Shared by the strands that work on one request. `make` gives a new one when none is kept.
  template <typename Make>
  std::shared_ptr<Work> Take(Make make) {
    std::unique_ptr<Work> work = TakeKept();
    if (work == nullptr) work = make();
    return {work.release(), [this](Work* used) { Keep(std::unique_ptr<Work>(used)); }};
  }

 private:
  std::unique_ptr<Work> TakeKept() {
    MutexLock lock(mutex_);
    if (kept_.empty()) return nullptr;
    std::unique_ptr<Work> work = std::move(kept_.back());
    kept_.pop_back();
    return work;
  }

  void Keep(std::unique_ptr<Work> work) {
    work->Rest();
    MutexLock lock(mutex_);
    if (kept_.size() < kKept) kept_.push_back(std::move(work));
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<Work>> kept_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow
