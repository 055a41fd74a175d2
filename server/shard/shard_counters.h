// Counts of a shard since the process started, for metrics.
//
// Thread safety: relaxed atomics; any thread reads and counts. A count orders nothing.

#pragma once

#include <atomic>
#include <cstdint>

namespace hotrow {

class RelaxedCounter {
 public:
  void Add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};  // relaxed: a count, orders nothing
};

struct ShardCounters {
  RelaxedCounter pull_requests;
  RelaxedCounter push_requests;
  RelaxedCounter overload_refusals;  // pulls, pushes and scans that the full queue did not take
  RelaxedCounter requests_failed;    // pulls and pushes answered with a message error
  RelaxedCounter deadlines_passed;   // of them because the deadline was over when taken up

  // What sub-pushes were answered; each counts once here for each time that it came.
  RelaxedCounter sub_pushes_applied;
  RelaxedCounter sub_pushes_duplicate;  // answered from the kept answers
  RelaxedCounter sub_pushes_refused;    // permanently
  RelaxedCounter sub_pushes_retried;    // transient refusals

  // Of those refused or retried.
  RelaxedCounter content_conflicts;   // a number came again with other bytes: a faulty client
  RelaxedCounter damaged_sub_pushes;  // content hash did not match
  RelaxedCounter gradients_refused;   // sub-pushes with a non-finite or out-of-bound gradient
};

}  // namespace hotrow
