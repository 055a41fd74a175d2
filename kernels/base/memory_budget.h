// A number of bytes that several owners draw from and give back to.
//
// Thread safety: all methods, from any thread. Bounds: used() never exceeds limit().

#pragma once

#include <atomic>
#include <cstdint>

namespace hotrow {

class MemoryBudget {
 public:
  // `limit_bytes` >= 0, for the life of the budget.
  explicit MemoryBudget(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // False, and nothing taken, when less than `bytes` is left.
  bool TryTake(int64_t bytes) {
    int64_t used = used_bytes_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_bytes_ - used) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  // `bytes` were taken before, perhaps in other pieces.
  void GiveBack(int64_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  const int64_t limit_bytes_;
  std::atomic<int64_t> used_bytes_{0};  // relaxed: a count, orders nothing
};

}  // namespace hotrow
