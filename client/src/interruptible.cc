#include "client/src/interruptible.h"

#include <thread>

#include "hotrow/interrupt.h"

namespace hotrow {
namespace {

// Of the innermost scope of this thread; null without one.
thread_local bool (*interrupted_by)() = nullptr;

}  // namespace

InterruptScope::InterruptScope(bool (*interrupted)()) : outer_(interrupted_by) {
  interrupted_by = interrupted;
}

InterruptScope::~InterruptScope() { interrupted_by = outer_; }

namespace client {
namespace {

constexpr milliseconds kSlice{100};

}  // namespace

TimePoint NextLook(TimePoint deadline) {
  return interrupted_by == nullptr ? deadline : std::min(deadline, Now() + kSlice);
}

bool Interrupted() { return interrupted_by != nullptr && interrupted_by(); }

bool WaitUntil(CondVar& changed, Mutex& mutex, TimePoint deadline) {
  if (changed.WaitUntil(mutex, NextLook(deadline))) return true;
  // Whoever is asked may need a lock, such as Python's, that another thread holds while it waits
  // for this one.
  mutex.Unlock();
  const bool interrupted = Interrupted();
  mutex.Lock();
  return !interrupted && Now() < deadline;
}

bool SleepFor(milliseconds time) {
  const TimePoint end = Now() + time;
  while (Now() < end) {
    std::this_thread::sleep_until(NextLook(end));
    if (Interrupted()) return false;
  }
  return true;
}

}  // namespace client
}  // namespace hotrow
