// Strand: one thread that runs tasks one after the other, and so is the single writer of whatever
// its tasks touch.
//
// Two queues: *requests* in order of arrival, bounded in number and bytes, refused when full; and
// *control* calls, which are taken up first and whose callers wait, so that there are at most as
// many as threads that call.
//
// Thread safety: every method from any thread; Run not from a task of this strand.
// Ownership: a task is owned until it has run. Bounds: Limits; a request counts from Reserve until
// it has run.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "kernels/base/mutex.h"

namespace hotrow {

class Strand {
 public:
  using Task = absl::AnyInvocable<void()>;
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Limits {
    int64_t max_requests = 0;
    int64_t max_bytes = 0;
  };
  enum class Admission : uint8_t { kAdmitted, kFull, kClosed };

  explicit Strand(Limits limits);
  ~Strand();  // stops
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Takes room for a request of `bytes`. After kAdmitted the caller must Post it.
  Admission Reserve(int64_t bytes);
  // Queues the request that room was reserved for.
  void Post(Task task, int64_t bytes);

  // Runs `task` on the strand, before waiting requests, and returns when it has run. False, and not
  // run, once the strand has stopped.
  bool Run(absl::AnyInvocable<void()> task);

  // No request is admitted any more; control calls still run.
  void Close();
  // True when no admitted request is left, false at `deadline`.
  bool WaitUntilIdle(TimePoint deadline);
  // Closes, runs what was accepted and ends the thread. Idempotent.
  void Stop();

  int64_t queued_requests() const;
  bool has_control_calls() const;  // that wait to be taken up

 private:
  struct Request {
    Task task;
    int64_t bytes = 0;
  };

  void Loop();
  void Release(int64_t bytes);

  const Limits limits_;
  mutable Mutex mutex_;
  CondVar work_;  // a task came, or stop
  CondVar done_;  // a request or a control call has run
  std::deque<Request> requests_ HOTROW_GUARDED_BY(mutex_);
  std::deque<Task*> control_ HOTROW_GUARDED_BY(mutex_);  // null once run; callers own them
  int64_t admitted_requests_ HOTROW_GUARDED_BY(mutex_) = 0;
  int64_t admitted_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool closed_ HOTROW_GUARDED_BY(mutex_) = false;
  bool stopping_ HOTROW_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace hotrow
