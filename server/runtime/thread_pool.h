// ThreadPool: a few threads for work that may block for milliseconds, so that event loops never do.
//
// Thread safety: every method, from any thread. Bounds: `max_waiting` tasks wait; more are refused.
// Ownership: a task is destroyed on the thread that ran it.

#pragma once

#include <deque>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "kernels/base/mutex.h"

namespace hotrow {

class ThreadPool {
 public:
  using Task = absl::AnyInvocable<void()>;

  ThreadPool(int threads, size_t max_waiting);
  ~ThreadPool();  // stops
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False, and `task` dropped, when too many wait or the pool has been stopped.
  [[nodiscard]] bool TrySubmit(Task task);
  // Runs what was accepted, then ends the threads. Idempotent.
  void Stop();

 private:
  void Run();

  const size_t max_waiting_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> waiting_ HOTROW_GUARDED_BY(mutex_);
  bool stopped_ HOTROW_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // owner's thread only
};

}  // namespace hotrow
