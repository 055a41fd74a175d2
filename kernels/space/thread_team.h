// ThreadTeam: a fixed number of threads that run one function together, each on its own part.
//
// Between calls the threads sleep. A call wakes all of them, some microseconds, so it is for parts
// that take longer.
//
// Thread safety: one caller at a time; Run returns when every part is done, and what the parts
// wrote is visible to the caller. Ownership: owns its threads, which end with it.
// Bounds: kMaxTeamThreads. A team of one starts no thread.

#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/base/result.h"

namespace hotrow {

inline constexpr int kMaxTeamThreads = 256;

class ThreadTeam {
 public:
  // `threads` includes the caller of Run. kInvalidArgument outside of 1 .. kMaxTeamThreads,
  // kUnavailable when the system has no more threads.
  static ResultOr<std::unique_ptr<ThreadTeam>> Create(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return threads_; }

  // Calls part(p) once for each 0 <= p < threads(), p = 0 on the calling thread. Never from within
  // a part.
  template <typename Part>
  void Run(const Part& part) {
    RunParts({[](const void* f, int p) { (*static_cast<const Part*>(f))(p); }, &part});
  }

 private:
  struct Call {
    void (*invoke)(const void* function, int part) = nullptr;
    const void* function = nullptr;
  };

  explicit ThreadTeam(int threads) : threads_(threads) {}
  void RunParts(const Call& call);
  void Work(int part);

  const int threads_;
  Mutex mutex_;
  CondVar changed_;
  Call call_ HOTROW_GUARDED_BY(mutex_);
  uint64_t calls_ HOTROW_GUARDED_BY(mutex_) = 0;  // begun so far
  int working_ HOTROW_GUARDED_BY(mutex_) = 0;     // threads that have not finished the last one
  bool ending_ HOTROW_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;  // constant once Create returned
};

}  // namespace hotrow
