// One thread that wakes the client's parts when their deadlines and retry times come.
//
// Thread safety: WakeBy from any thread; Register before Start. Ownership: registered parts must
// outlive Stop(). It does not poll: with nothing due it sleeps.

#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "client/src/time_point.h"
#include "kernels/base/mutex.h"

namespace hotrow::client {

// A part that has something to do at certain times.
class Timed {
 public:
  virtual ~Timed() = default;
  // Does what is due. Returns when it wants to be called next; must not block.
  virtual TimePoint OnTime(TimePoint now) = 0;
};

class Alarm {
 public:
  Alarm() = default;
  ~Alarm() { Stop(); }

  void Register(Timed& part) { parts_.push_back(&part); }
  void Start();
  // Calls every part no later than `time`.
  void WakeBy(TimePoint time);
  void Stop();

 private:
  void Run();

  std::vector<Timed*> parts_;                                              // constant after Start
  std::atomic<TimePoint::rep> wake_ = Never().time_since_epoch().count();  // written under mutex_
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ HOTROW_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hotrow::client
