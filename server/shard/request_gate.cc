#include "server/shard/request_gate.h"

namespace hotrow {

RequestGate::Admission RequestGate::Reserve(int64_t bytes) {
  MutexLock lock(mutex_);
  if (closed_) return Admission::kClosed;
  if (requests_ >= limits_.max_requests) return Admission::kFull;
  if (bytes > limits_.max_bytes - bytes_) return Admission::kFull;
  ++requests_;
  bytes_ += bytes;
  return Admission::kAdmitted;
}

void RequestGate::Release(int64_t bytes) {
  MutexLock lock(mutex_);
  bytes_ -= bytes;
  if (--requests_ == 0) released_.NotifyAll();
}

void RequestGate::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

bool RequestGate::WaitUntilIdle(TimePoint deadline) {
  MutexLock lock(mutex_);
  while (requests_ > 0) {
    if (!released_.WaitUntil(mutex_, deadline)) return requests_ == 0;
  }
  return true;
}

int64_t RequestGate::requests() const {
  MutexLock lock(mutex_);
  return requests_;
}

}  // namespace hotrow
