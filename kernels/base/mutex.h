// An annotated std::mutex, so that clang's -Wthread-safety and ThreadSanitizer both see every lock.
//
// Thread safety: that is what it is for. Bounds: none; hold a lock for pointer moves only, never
// for I/O.

#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define HOTROW_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define HOTROW_THREAD_ANNOTATION(x)
#endif

#define HOTROW_GUARDED_BY(mutex) HOTROW_THREAD_ANNOTATION(guarded_by(mutex))
#define HOTROW_REQUIRES(...) HOTROW_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define HOTROW_EXCLUDES(...) HOTROW_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace hotrow {

class HOTROW_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() HOTROW_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() HOTROW_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class HOTROW_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) HOTROW_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() HOTROW_THREAD_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Wait in a loop over the condition: wake-ups may be spurious.
class CondVar {
 public:
  void Wait(Mutex& mutex) HOTROW_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False when `deadline` (monotonic clock) passed.
  template <typename TimePoint>
  bool WaitUntil(Mutex& mutex, TimePoint deadline) HOTROW_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace hotrow
