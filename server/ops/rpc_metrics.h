// RpcMetrics: what the rpc layer counts while it works; read when a scrape asks.
//
// Each thread counts in a cell that it shares with few others, without locks; a reader adds the
// cells up. A request may begin in one cell and end in another.
//
// Thread safety: every method, from any thread; relaxed atomics, so one scrape may see a request in
// one counter and not yet in another. Units: durations in nanoseconds, sizes in bytes.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "kernels/base/histogram.h"
#include "server/ops/slow_log.h"

namespace hotrow {

// The gRPC codes 0 .. 16.
inline constexpr size_t kCodeCount = 17;
const char* NameOfCode(size_t code);

// The methods whose requests go through stages and have keys.
inline constexpr std::array<Method, 2> kStagedMethods = {Method::kPull, Method::kPush};

// What one request was, told when it ends.
struct RequestOutcome {
  int code = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
};

// What a method has done, over all threads.
struct MethodTotals {
  std::array<uint64_t, kCodeCount> requests{};
  DurationHistogram::Totals durations;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
  uint64_t slow = 0;
  int64_t in_flight = 0;
};

// Of a staged method, over all threads.
struct StageTotals {
  std::array<DurationHistogram::Totals, kStageCount> stages{};
  KeyCountHistogram::Totals keys;
};

class RpcMetrics {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Calls that take `slow_call` or longer are slow; 0: none is.
  explicit RpcMetrics(std::chrono::milliseconds slow_call = std::chrono::milliseconds(0));
  ~RpcMetrics();

  // A request has arrived: returns its start.
  Time Begin(Method method);
  // The request that began at `start` has been answered. Returns how long it took.
  std::chrono::nanoseconds End(Method method, Time start, const RequestOutcome& outcome);
  // Bytes sent while a streaming call goes on.
  void AddSent(Method method, uint64_t bytes);
  // A request of a staged method was understood.
  void CountKeys(Method method, uint64_t keys);
  // A request of a staged method has gone through all stages.
  void CountStages(Method method, const StageTimes& stages);
  // Logs and keeps a call that slow_log() calls slow.
  void CountSlow(SlowCall call);
  // A request was refused, wholly or in part, because something was full.
  void CountOverload();
  // A stream was cut because its client did not take its replies.
  void CountCutStream();

  MethodTotals Totals(Method method) const;
  StageTotals Stages(Method method) const;  // a staged method
  uint64_t overloads() const;
  uint64_t cut_streams() const;
  const SlowLog& slow_log() const { return slow_log_; }

 private:
  struct Cell;
  Cell& Mine() const;

  static constexpr size_t kCells = 16;
  const std::unique_ptr<Cell[]> cells_;  // (kCells)
  SlowLog slow_log_;
};

}  // namespace hotrow
