// SharedWork: what the strands that work on one request decide together.
//
// Thread safety: Begin before any strand knows of the request; the rest from any strand. Ownership:
// owns `finish` until it has run. Bounds: no strand waits for another. Errors: one for the whole
// request, the first that a strand met; what other strands have done by then stays done, and a
// retry of a push gets the kept answers to it.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "kernels/base/mutex.h"
#include "proto/wire/batch_codec.h"
#include "server/shard/request_times.h"

namespace hotrow {

class SharedWork {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Before `parts` strands get the request. `finish` runs once, on the last of them; here when
  // there are none.
  void Begin(int parts, TimePoint deadline, absl::AnyInvocable<void()> finish) {
    deadline_ = deadline;
    {
      MutexLock lock(mutex_);
      error_ = {};
    }
    finish_ = std::move(finish);
    verdict_.store(Verdict::kOpen, std::memory_order_relaxed);
    parts_.store(parts, std::memory_order_relaxed);
    times_ = {.shared_out = std::chrono::steady_clock::now()};
    if (parts > 0) return;
    times_.taken_up = times_.worked = times_.shared_out;
    Finish();
  }

  // Whether the request is worked on at all. The first strand that takes it up decides for all of
  // them, so that none answers "too late" beside one that has done its part.
  bool InTime(TimePoint now) {
    Verdict verdict = Verdict::kOpen;
    const Verdict mine = now < deadline_ ? Verdict::kInTime : Verdict::kLate;
    // Relaxed: the verdict orders nothing.
    if (verdict_.compare_exchange_strong(verdict, mine, std::memory_order_relaxed)) {
      verdict = mine;
      times_.taken_up = now;  // EndPart hands it on
    }
    return verdict == Verdict::kInTime;
  }

  // The request fails as a whole. The first error is kept.
  void Fail(const wire::ErrorInfo& error) {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = error;
  }
  // Not ok once Fail was called. For `finish`, which sees what every strand said.
  wire::ErrorInfo error() const {
    MutexLock lock(mutex_);
    return error_;
  }

  // A strand has done its part.
  void EndPart() {
    // Release: what this strand wrote; acquire: the last one sees what all have written.
    if (parts_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    times_.worked = std::chrono::steady_clock::now();
    Finish();
  }

  // For `finish`, which comes after all of them.
  const RequestTimes& times() const { return times_; }

 private:
  enum class Verdict : uint8_t { kOpen, kInTime, kLate };

  void Finish() { std::exchange(finish_, nullptr)(); }

  TimePoint deadline_;
  RequestTimes times_;  // written by one thread at a time, handed on by parts_
  absl::AnyInvocable<void()> finish_;
  std::atomic<Verdict> verdict_ = Verdict::kOpen;
  std::atomic<int> parts_ = 0;
  mutable Mutex mutex_;
  wire::ErrorInfo error_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow
