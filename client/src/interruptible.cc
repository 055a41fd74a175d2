#include "client/src/interruptible.h"

#include <thread>
#include <utility>

#include "hotrow/interrupt.h"

namespace hotrow {
namespace {

thread_local InterruptScope* innermost = nullptr;

}  // namespace

InterruptScope::InterruptScope(std::function<bool()> interrupted)
    : interrupted_(std::move(interrupted)), outer_(std::exchange(innermost, this)) {}

InterruptScope::~InterruptScope() { innermost = outer_; }

bool InterruptScope::AskInnermost() {
  if (innermost == nullptr) return false;
  // Kept: a call has several waits, and whoever was asked may say it only once.
  innermost->said_true_ = innermost->said_true_ || innermost->interrupted_();
  return innermost->said_true_;
}

namespace client {

TimePoint NextLook(TimePoint deadline) {
  return innermost == nullptr ? deadline : std::min(deadline, Now() + InterruptScope::kLookEvery);
}

bool Interrupted() { return InterruptScope::AskInnermost(); }

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
