#include "server/ops/rpc_metrics.h"

#include <utility>

namespace hotrow {
namespace {

constexpr std::array<const char*, kCodeCount> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

constexpr auto kRelaxed = std::memory_order_relaxed;

struct MethodCounters {
  std::array<std::atomic<uint64_t>, kCodeCount> requests{};
  DurationHistogram durations;
  std::atomic<uint64_t> received_bytes{0};
  std::atomic<uint64_t> sent_bytes{0};
  std::atomic<uint64_t> slow{0};
  std::atomic<int64_t> in_flight{0};
};

struct StageCounters {
  std::array<DurationHistogram, kStageCount> stages;
  KeyCountHistogram keys;
};

size_t StagedIndex(Method method) { return method == Method::kPull ? 0 : 1; }

uint64_t Nanoseconds(std::chrono::nanoseconds time) {
  return time.count() > 0 ? static_cast<uint64_t>(time.count()) : 0;
}

// Threads take the cells in turn.
size_t NumberOfThread() {
  static std::atomic<size_t> next{0};
  thread_local const size_t number = next.fetch_add(1, kRelaxed);
  return number;
}

}  // namespace

// Of its own cache lines, so that threads of different cells do not disturb each other.
struct alignas(64) RpcMetrics::Cell {
  std::array<MethodCounters, kMethodCount> methods;
  std::array<StageCounters, kStagedMethods.size()> staged;
  std::atomic<uint64_t> overloads{0};
  std::atomic<uint64_t> cut_streams{0};

  MethodCounters& of(Method method) { return methods[static_cast<size_t>(method)]; }
};

const char* NameOfCode(size_t code) { return kCodeNames[code]; }

RpcMetrics::RpcMetrics(std::chrono::milliseconds slow_call)
    : cells_(std::make_unique<Cell[]>(kCells)), slow_log_(slow_call) {}

RpcMetrics::~RpcMetrics() = default;

RpcMetrics::Cell& RpcMetrics::Mine() const { return cells_[NumberOfThread() % kCells]; }

RpcMetrics::Time RpcMetrics::Begin(Method method) {
  Mine().of(method).in_flight.fetch_add(1, kRelaxed);
  return std::chrono::steady_clock::now();
}

std::chrono::nanoseconds RpcMetrics::End(Method method, Time start, const RequestOutcome& outcome) {
  MethodCounters& counters = Mine().of(method);
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - start;
  counters.durations.Add(Nanoseconds(taken));
  const bool known = outcome.code >= 0 && outcome.code < static_cast<int>(kCodeCount);
  counters.requests[known ? static_cast<size_t>(outcome.code) : 2].fetch_add(1, kRelaxed);
  counters.received_bytes.fetch_add(outcome.received_bytes, kRelaxed);
  counters.sent_bytes.fetch_add(outcome.sent_bytes, kRelaxed);
  counters.in_flight.fetch_sub(1, kRelaxed);
  return taken;
}

void RpcMetrics::AddSent(Method method, uint64_t bytes) {
  Mine().of(method).sent_bytes.fetch_add(bytes, kRelaxed);
}

void RpcMetrics::CountKeys(Method method, uint64_t keys) {
  Mine().staged[StagedIndex(method)].keys.Add(keys);
}

void RpcMetrics::CountStages(Method method, const StageTimes& stages) {
  StageCounters& counters = Mine().staged[StagedIndex(method)];
  for (size_t i = 0; i < kStageCount; ++i) counters.stages[i].Add(Nanoseconds(stages[i]));
}

void RpcMetrics::CountSlow(SlowCall call) {
  Mine().of(call.method).slow.fetch_add(1, kRelaxed);
  slow_log_.Add(std::move(call));
}

void RpcMetrics::CountOverload() { Mine().overloads.fetch_add(1, kRelaxed); }

void RpcMetrics::CountCutStream() { Mine().cut_streams.fetch_add(1, kRelaxed); }

MethodTotals RpcMetrics::Totals(Method method) const {
  MethodTotals totals;
  for (size_t cell = 0; cell < kCells; ++cell) {
    const MethodCounters& counters = cells_[cell].of(method);
    for (size_t code = 0; code < kCodeCount; ++code) {
      totals.requests[code] += counters.requests[code].load(kRelaxed);
    }
    counters.durations.AddTo(totals.durations);
    totals.received_bytes += counters.received_bytes.load(kRelaxed);
    totals.sent_bytes += counters.sent_bytes.load(kRelaxed);
    totals.slow += counters.slow.load(kRelaxed);
    totals.in_flight += counters.in_flight.load(kRelaxed);
  }
  return totals;
}

StageTotals RpcMetrics::Stages(Method method) const {
  StageTotals totals;
  for (size_t cell = 0; cell < kCells; ++cell) {
    const StageCounters& counters = cells_[cell].staged[StagedIndex(method)];
    for (size_t i = 0; i < kStageCount; ++i) counters.stages[i].AddTo(totals.stages[i]);
    counters.keys.AddTo(totals.keys);
  }
  return totals;
}

uint64_t RpcMetrics::overloads() const {
  uint64_t sum = 0;
  for (size_t cell = 0; cell < kCells; ++cell) sum += cells_[cell].overloads.load(kRelaxed);
  return sum;
}

uint64_t RpcMetrics::cut_streams() const {
  uint64_t sum = 0;
  for (size_t cell = 0; cell < kCells; ++cell) sum += cells_[cell].cut_streams.load(kRelaxed);
  return sum;
}

}  // namespace hotrow
