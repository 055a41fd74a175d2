// Where a server is in its life, as health checks and metrics tell it.

#pragma once

#include <cstdint>

namespace hotrow {

enum class ServingState : uint8_t { kStarting, kServing, kDraining };

constexpr const char* NameOf(ServingState state) {
  constexpr const char* kNames[] = {"starting", "serving", "draining"};
  return kNames[static_cast<uint8_t>(state)];
}

}  // namespace hotrow
