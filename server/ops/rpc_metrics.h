// RpcMetrics: what the rpc layer counts while it works; read when a scrape asks.
//
// Thread safety: every method, from any thread; relaxed atomics, so one scrape may see a request in
// one counter and not yet in another. Units: durations in nanoseconds, sizes in bytes.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace hotrow {

enum class Method : uint8_t {
  kPull,
  kPush,
  kScan,
  kOpenSession,
  kCloseSession,
  kCreateTable,
  kDescribeTable,
  kListTables,
  kDropTable,
  kGetStats,
  kGetShardMap,
  kDrain,
  kCreateCheckpoint,
  kRestore,
  kReshard,
};
inline constexpr size_t kMethodCount = 15;
const char* NameOf(Method method);

// The gRPC codes 0 .. 16.
inline constexpr size_t kCodeCount = 17;
const char* NameOfCode(size_t code);

// Upper bounds of the duration buckets in seconds: 50 us to 5 s.
inline constexpr std::array<double, 16> kDurationBuckets = {
    5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5};

struct MethodCounters {
  std::array<std::atomic<uint64_t>, kCodeCount> requests{};
  std::array<std::atomic<uint64_t>, kDurationBuckets.size() + 1> durations{};
  std::atomic<uint64_t> duration_sum_ns{0};
  std::atomic<uint64_t> received_bytes{0};
  std::atomic<uint64_t> sent_bytes{0};
  std::atomic<int64_t> in_flight{0};
};

// What one request was, told when it ends.
struct RequestOutcome {
  int code = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
};

class RpcMetrics {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A request has arrived: returns its start.
  Time Begin(Method method);
  // The request that began at `start` has been answered.
  void End(Method method, Time start, const RequestOutcome& outcome);
  // Bytes sent while a streaming call goes on.
  void AddSent(Method method, uint64_t bytes);
  // A request was refused because too much is waiting.
  void CountOverload() { overloads_.fetch_add(1, std::memory_order_relaxed); }
  // A stream was cut because its client did not take its replies.
  void CountCutStream() { cut_streams_.fetch_add(1, std::memory_order_relaxed); }

  const MethodCounters& of(Method method) const { return methods_[static_cast<size_t>(method)]; }
  uint64_t overloads() const { return overloads_.load(std::memory_order_relaxed); }
  uint64_t cut_streams() const { return cut_streams_.load(std::memory_order_relaxed); }

 private:
  std::array<MethodCounters, kMethodCount> methods_;
  std::atomic<uint64_t> overloads_{0};
  std::atomic<uint64_t> cut_streams_{0};
};

}  // namespace hotrow
