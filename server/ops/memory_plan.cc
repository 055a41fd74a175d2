#include "server/ops/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "server/ops/human_units.h"
#include "server/ops/memory_limit.h"

namespace hotrow {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// What a server without tables, clients and work takes, measured at 60 MiB.
constexpr int64_t kProgramBytes = 96 * kMiB;
// Of the answers that retries of pushes are given: all rings, and what is beside them
// (push_window.h).
constexpr int64_t kKeptAnswerBytes = 320 * kMiB;

// `part` of the budget, where there is one, between `least` and `usual`.
int64_t ShareOf(int64_t budget, int64_t part, int64_t least, int64_t usual) {
  return budget == 0 ? usual : std::clamp(budget / part, least, usual);
}

int64_t SumOf(const std::vector<MemoryPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t{0},
                         [](int64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

}  // namespace

std::vector<MemoryPart> MemoryParts(const ServerConfig& config) {
  std::vector<MemoryPart> parts = {
      {"tiers.hot_budget", config.hot_budget_bytes},
      {"tiers.warm_budget", config.warm_budget_bytes},
      {"rpc.memory, and half of it for requests", config.rpc_memory_bytes * 3 / 2},
      {"queue.max_bytes", config.max_queued_bytes},
      {"answers kept for retries", kKeptAnswerBytes},
      {"the program", kProgramBytes}};
  if (config.disk_budget_bytes > 0) {
    parts.push_back({"tiers.disk_memory", config.disk_memory_bytes});
    parts.push_back({"tiers.write_queue", config.write_queue_bytes});
  }
  return parts;
}

absl::Status PlanMemory(ServerConfig& config) {
  const int64_t budget = config.memory_budget_bytes;
  const auto fill = [](int64_t& bytes, int64_t value) {
    if (bytes == 0) bytes = value;
  };
  fill(config.rpc_memory_bytes, ShareOf(budget, 16, 64 * kMiB, 1024 * kMiB));
  fill(config.max_queued_bytes, ShareOf(budget, 32, 32 * kMiB, 256 * kMiB));
  fill(config.disk_memory_bytes, ShareOf(budget, 24, 16 * kMiB, 256 * kMiB));
  fill(config.write_queue_bytes, ShareOf(budget, 48, 16 * kMiB, 128 * kMiB));
  if (config.hot_budget_bytes == 0) {
    const int64_t others = SumOf(MemoryParts(config));
    config.hot_budget_bytes = budget == 0 ? UsableMemoryBytes("") / 2 : budget - others;
  }
  const std::vector<MemoryPart> parts = MemoryParts(config);
  if (budget == 0 || (SumOf(parts) <= budget && config.hot_budget_bytes > 0)) {
    return absl::OkStatus();
  }
  std::string list;
  for (const MemoryPart& part : parts) {
    if (part.bytes <= 0) continue;
    list += (list.empty() ? "" : ", ") + part.name + " " + FormatSize(part.bytes);
  }
  return absl::InvalidArgumentError("memory_budget: " + FormatSize(budget) +
                                    " is less than what its parts may take: " + list +
                                    "; raise it, or lower one of them");
}

}  // namespace hotrow
