#include "client/src/alarm.h"

namespace hotrow::client {
namespace {

TimePoint FromCount(TimePoint::rep count) { return TimePoint(TimePoint::duration(count)); }

}  // namespace

void Alarm::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Alarm::WakeBy(TimePoint time) {
  // Most deadlines are later than the next wake-up: no lock for them. Relaxed: the value only says
  // whether to take the lock, and it never gets later without a call of every part.
  if (time.time_since_epoch().count() >= wake_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  if (time >= FromCount(wake_.load(std::memory_order_relaxed))) return;
  wake_.store(time.time_since_epoch().count(), std::memory_order_relaxed);
  changed_.NotifyOne();
}

void Alarm::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

void Alarm::Run() {
  mutex_.Lock();
  while (!stopping_) {
    const TimePoint now = Now();
    const TimePoint wake = FromCount(wake_.load(std::memory_order_relaxed));
    if (now < wake) {
      changed_.WaitUntil(mutex_, std::min(wake, now + std::chrono::hours(1)));
      continue;
    }
    wake_.store(Never().time_since_epoch().count(), std::memory_order_relaxed);
    mutex_.Unlock();
    TimePoint next = Never();
    for (Timed* part : parts_) next = std::min(next, part->OnTime(now));
    mutex_.Lock();
    const TimePoint asked = FromCount(wake_.load(std::memory_order_relaxed));
    wake_.store(std::min(next, asked).time_since_epoch().count(), std::memory_order_relaxed);
  }
  mutex_.Unlock();
}

}  // namespace hotrow::client
