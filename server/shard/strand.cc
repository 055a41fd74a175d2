#include "server/shard/strand.h"

#include <utility>

#include "kernels/base/check.h"

namespace hotrow {

Strand::Strand(Limits limits) : limits_(limits), thread_([this] { Loop(); }) {}

Strand::~Strand() { Stop(); }

Strand::Admission Strand::Reserve(int64_t bytes) {
  MutexLock lock(mutex_);
  if (closed_) return Admission::kClosed;
  if (admitted_requests_ >= limits_.max_requests) return Admission::kFull;
  if (bytes > limits_.max_bytes - admitted_bytes_) return Admission::kFull;
  ++admitted_requests_;
  admitted_bytes_ += bytes;
  return Admission::kAdmitted;
}

void Strand::Post(Task task, int64_t bytes) {
  MutexLock lock(mutex_);
  requests_.push_back({std::move(task), bytes});
  work_.NotifyOne();
}

bool Strand::Run(absl::AnyInvocable<void()> task) {
  HOTROW_CHECK(std::this_thread::get_id() != thread_.get_id());
  bool ran = false;  // guarded by mutex_
  Task call = [&] {
    task();
    MutexLock lock(mutex_);
    ran = true;
    done_.NotifyAll();
  };
  MutexLock lock(mutex_);
  if (stopping_) return false;
  control_.push_back(&call);
  work_.NotifyOne();
  while (!ran) done_.Wait(mutex_);
  return true;
}

void Strand::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

bool Strand::WaitUntilIdle(TimePoint deadline) {
  MutexLock lock(mutex_);
  while (admitted_requests_ > 0) {
    if (!done_.WaitUntil(mutex_, deadline)) return admitted_requests_ == 0;
  }
  return true;
}

void Strand::Stop() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    while (admitted_requests_ > 0) done_.Wait(mutex_);
    stopping_ = true;
    work_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

int64_t Strand::queued_requests() const {
  MutexLock lock(mutex_);
  return admitted_requests_;
}

bool Strand::has_control_calls() const {
  MutexLock lock(mutex_);
  return !control_.empty();
}

void Strand::Release(int64_t bytes) {
  MutexLock lock(mutex_);
  --admitted_requests_;
  admitted_bytes_ -= bytes;
  done_.NotifyAll();
}

void Strand::Loop() {
  while (true) {
    Request request;
    Task* call = nullptr;
    {
      MutexLock lock(mutex_);
      while (requests_.empty() && control_.empty() && !stopping_) work_.Wait(mutex_);
      if (!control_.empty()) {
        call = control_.front();
        control_.pop_front();
      } else if (!requests_.empty()) {
        request = std::move(requests_.front());
        requests_.pop_front();
      } else {
        return;
      }
    }
    if (call != nullptr) {
      (*call)();
      continue;
    }
    const int64_t bytes = request.bytes;
    request.task();
    request.task = nullptr;  // frees the request before its room is given back
    Release(bytes);
  }
}

}  // namespace hotrow
