#include "server/shard/strand.h"

#include <utility>

#include "kernels/base/check.h"

namespace hotrow {

Strand::~Strand() { Stop(); }

void Strand::Post(Task task, Where where) {
  {
    MutexLock lock(mutex_);
    const bool idle = !busy_ && requests_.empty() && control_.empty();
    if (where == Where::kOwnThread || !idle) {
      requests_.push_back(std::move(task));
      work_.NotifyOne();
      return;
    }
    Take(std::this_thread::get_id());
  }
  task();
  task = nullptr;
  MutexLock lock(mutex_);
  GiveUp();
}

bool Strand::Run(Task task) {
  bool ran = false;  // guarded by mutex_
  Task call = [&] {
    task();
    MutexLock lock(mutex_);
    ran = true;
    done_.NotifyAll();
  };
  MutexLock lock(mutex_);
  HOTROW_CHECK(!busy_ || taken_by_ != std::this_thread::get_id());
  if (stopping_) return false;
  control_.push_back(&call);
  work_.NotifyOne();
  while (!ran) done_.Wait(mutex_);
  return true;
}

void Strand::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    work_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

int64_t Strand::waiting_requests() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(requests_.size());
}

bool Strand::has_control_calls() const {
  MutexLock lock(mutex_);
  return !control_.empty();
}

void Strand::Take(std::thread::id thread) {
  busy_ = true;
  taken_by_ = thread;
}

void Strand::GiveUp() {
  busy_ = false;
  if (!requests_.empty() || !control_.empty() || stopping_) work_.NotifyOne();
}

void Strand::Loop() {
  while (true) {
    Task request;
    Task* call = nullptr;
    {
      MutexLock lock(mutex_);
      while (busy_ || (requests_.empty() && control_.empty() && !stopping_)) work_.Wait(mutex_);
      if (!control_.empty()) {
        call = control_.front();
        control_.pop_front();
      } else if (!requests_.empty()) {
        request = std::move(requests_.front());
        requests_.pop_front();
      } else {
        return;
      }
      Take(thread_.get_id());
    }
    if (call != nullptr) {
      (*call)();  // its caller may be gone afterwards
    } else {
      request();
      request = nullptr;
    }
    MutexLock lock(mutex_);
    GiveUp();
  }
}

}  // namespace hotrow
