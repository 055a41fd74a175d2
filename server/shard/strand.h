// Strand: runs tasks one after the other, and so is the single writer of whatever its tasks touch.
//
// Two queues: *requests* in order of arrival, whose number and bytes a RequestGate bounds; and
// *control* calls, which are taken up first and whose callers wait, so that there are at most as
// many as threads that call. A strand has a thread of its own; a short request may run on the
// thread that brings it while the strand has nothing else to do.
//
// Thread safety: every method from any thread; Run not from a task of this strand. What a task
// wrote is seen by the next one, whatever threads they run on. Ownership: a task is owned until it
// has run.

#pragma once

#include <cstdint>
#include <deque>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "kernels/base/mutex.h"

namespace hotrow {

class Strand {
 public:
  using Task = absl::AnyInvocable<void()>;
  enum class Where : uint8_t { kOwnThread, kHereIfIdle };

  Strand() : thread_([this] { Loop(); }) {}
  ~Strand();  // stops
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Takes over an admitted request. kHereIfIdle runs it before it returns when nothing runs or
  // waits, which saves two hand-overs between threads; the caller then holds no lock. Not after
  // Stop.
  void Post(Task task, Where where);

  // Runs `task` on the strand, before waiting requests, and returns when it has run. False, and not
  // run, once the strand has stopped.
  bool Run(Task task);

  // Runs what was accepted and ends the thread. Idempotent.
  void Stop();

  int64_t waiting_requests() const;  // not yet taken up
  bool has_control_calls() const;    // that wait to be taken up

 private:
  void Loop();
  void Take(std::thread::id thread) HOTROW_REQUIRES(mutex_);
  void GiveUp() HOTROW_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar work_;  // a task came, the strand became idle with work left, or stop
  CondVar done_;  // a control call has run
  std::deque<Task> requests_ HOTROW_GUARDED_BY(mutex_);
  std::deque<Task*> control_ HOTROW_GUARDED_BY(mutex_);  // callers own them
  bool busy_ HOTROW_GUARDED_BY(mutex_) = false;          // a task runs, on taken_by_
  std::thread::id taken_by_ HOTROW_GUARDED_BY(mutex_);
  bool stopping_ HOTROW_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace hotrow
