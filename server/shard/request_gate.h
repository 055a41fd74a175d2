// RequestGate: the bound on the requests that a shard has taken in and not yet answered, in number
// and in bytes, over all its strands.
//
// Thread safety: every method, from any thread. Bounds: Limits; a request counts from Reserve until
// Release. Errors: none; Admission says what became of a request.

#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/base/mutex.h"

namespace hotrow {

class RequestGate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Limits {
    int64_t max_requests = 0;
    int64_t max_bytes = 0;
  };
  enum class Admission : uint8_t { kAdmitted, kFull, kClosed };

  explicit RequestGate(Limits limits) : limits_(limits) {}

  // Takes room for a request of `bytes`, to be given back by Release with the same number.
  Admission Reserve(int64_t bytes);
  void Release(int64_t bytes);

  // No request is admitted any more.
  void Close();
  // True when no admitted request is left, false at `deadline`.
  bool WaitUntilIdle(TimePoint deadline);

  int64_t requests() const;  // admitted and not released

 private:
  const Limits limits_;
  mutable Mutex mutex_;
  CondVar released_;
  int64_t requests_ HOTROW_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool closed_ HOTROW_GUARDED_BY(mutex_) = false;
};

}  // namespace hotrow
