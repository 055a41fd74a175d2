#include "server/ops/rpc_metrics.h"

#include <algorithm>

namespace hotrow {
namespace {

constexpr std::array<const char*, kMethodCount> kMethodNames = {"Pull",
                                                                "Push",
                                                                "Scan",
                                                                "OpenSession",
                                                                "CloseSession",
                                                                "CreateTable",
                                                                "DescribeTable",
                                                                "ListTables",
                                                                "DropTable",
                                                                "GetStats",
                                                                "GetShardMap",
                                                                "Drain",
                                                                "CreateCheckpoint",
                                                                "Restore",
                                                                "Reshard"};

constexpr std::array<const char*, kCodeCount> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

const char* NameOf(Method method) { return kMethodNames[static_cast<size_t>(method)]; }

const char* NameOfCode(size_t code) { return kCodeNames[code]; }

RpcMetrics::Time RpcMetrics::Begin(Method method) {
  methods_[static_cast<size_t>(method)].in_flight.fetch_add(1, kRelaxed);
  return std::chrono::steady_clock::now();
}

void RpcMetrics::End(Method method, Time start, const RequestOutcome& outcome) {
  MethodCounters& counters = methods_[static_cast<size_t>(method)];
  const auto taken = std::chrono::steady_clock::now() - start;
  const double seconds = std::chrono::duration<double>(taken).count();
  const auto bucket = std::lower_bound(kDurationBuckets.begin(), kDurationBuckets.end(), seconds) -
                      kDurationBuckets.begin();
  counters.durations[static_cast<size_t>(bucket)].fetch_add(1, kRelaxed);
  counters.duration_sum_ns.fetch_add(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count()),
      kRelaxed);
  const bool known = outcome.code >= 0 && outcome.code < static_cast<int>(kCodeCount);
  counters.requests[known ? static_cast<size_t>(outcome.code) : 2].fetch_add(1, kRelaxed);
  counters.received_bytes.fetch_add(outcome.received_bytes, kRelaxed);
  counters.sent_bytes.fetch_add(outcome.sent_bytes, kRelaxed);
  counters.in_flight.fetch_sub(1, kRelaxed);
}

void RpcMetrics::AddSent(Method method, uint64_t bytes) {
  methods_[static_cast<size_t>(method)].sent_bytes.fetch_add(bytes, kRelaxed);
}

}  // namespace hotrow
