// MemoryPlan: what a server's memory goes to, part by part.
//
// Thread safety: pure functions. Units: bytes.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/ops/config.h"

namespace hotrow {

struct MemoryPart {
  std::string name;  // the configuration key, or what it is
  int64_t bytes = 0;
};

// Each part at its limit.
std::vector<MemoryPart> MemoryParts(const ServerConfig& config);

// Fills in the sizes that are 0: by memory_budget where that is given, else by what the process may
// use. InvalidArgument, naming every part, when they are more than memory_budget.
absl::Status PlanMemory(ServerConfig& config);

}  // namespace hotrow
