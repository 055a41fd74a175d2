// HostSpace: runs the stages of a batch on the calling thread. While one key waits for memory, the
// stages of the keys behind it run: stage k works on key i - k x distance, so what stage k
// prefetches has arrived when stage k + 1 wants it.
//
// Thread safety: no state; a call runs on its own thread. Bounds: the work of the keys under way
// lies on the stack, one entry per key.

#pragma once

#include <bit>
#include <cstdint>

#include "kernels/space/tile.h"

namespace hotrow {

struct HostSpace {
  using Tile = HostTile<1>;

  // Calls stages(tile, i, work) for 0 <= i < n, for each key in the order of the stages. `work`
  // belongs to key i and lasts from its first to its last stage. The last stage sees the keys in
  // order.
  template <int kDistance, typename Work, typename... Stages>
  static void Run(int64_t n, const Stages&... stages) {
    constexpr int64_t kDepth = kDistance * (static_cast<int64_t>(sizeof...(Stages)) - 1);
    constexpr uint64_t kRing = std::bit_ceil(static_cast<uint64_t>(kDepth) + 1);
    const Tile tile;
    Work ring[kRing];
    for (int64_t step = 0; step < n + kDepth; ++step) {
      int64_t i = step;
      const auto run = [&](const auto& stage) {
        if (i >= 0 && i < n) stage(tile, i, ring[static_cast<uint64_t>(i) % kRing]);
        i -= kDistance;
      };
      (run(stages), ...);
    }
  }
};

}  // namespace hotrow
