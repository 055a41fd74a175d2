// HostSpace: runs the stages of a batch on the processor's cores. While one key waits for memory,
// the stages of the keys behind it run: stage k works on key i - k x distance, so what stage k
// prefetches has arrived when stage k + 1 wants it.
//
// Any number of threads and any tile width give the same bits: a stage's keys are independent of
// each other, or share words by kernels/base/atomic.h in a way whose outcome does not depend on the
// order.
//
// Thread safety: a value; calls with one team come one after the other. Ownership: borrows the
// team. Bounds: the work of the keys under way lies on the stack, one entry per key.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/base/check.h"
#include "kernels/space/thread_team.h"
#include "kernels/space/tile.h"

namespace hotrow {

// Items that pay for waking a thread: a wake-up costs some microseconds.
inline constexpr int64_t kFewestItemsPerThread = 64;

struct HostSpace {
  using Tile = HostTile<1>;  // what fits a core

  ThreadTeam* team = nullptr;  // null: the calling thread works alone
  int tile_width = 1;          // lanes acting together: 1, 8 or 32

  // The same tile on the calling thread alone.
  HostSpace Alone() const { return {nullptr, tile_width}; }

  // Threads that share `n` items.
  int Threads(int64_t n) const {
    if (team == nullptr) return 1;
    return static_cast<int>(std::clamp<int64_t>(n / kFewestItemsPerThread, 1, team->threads()));
  }

  // Calls f(tile) once.
  template <typename F>
  void WithTile(const F& f) const {
    switch (tile_width) {
      case 1:
        return f(HostTile<1>());
      case 8:
        return f(HostTile<8>());
      case 32:
        return f(HostTile<32>());
      default:
        HOTROW_CHECK(false);
    }
  }

  // Calls range(tile, begin, end) for ranges that cover 0 .. n-1, one a thread.
  template <typename Range>
  void ForRanges(int64_t n, const Range& range) const {
    ForParts(n, [&](const auto& tile, int /*part*/, int64_t begin, int64_t end) {
      range(tile, begin, end);
    });
  }

  // The same as part(tile, p, begin, end) with the number 0 <= p < Threads(n) of the range.
  template <typename Part>
  void ForParts(int64_t n, const Part& part) const {
    WithTile([&](const auto& tile) { Split(n, tile, part); });
  }

  // Calls stage(tile, i) for 0 <= i < n. On one thread in order.
  template <typename Stage>
  void ForEach(int64_t n, const Stage& stage) const {
    ForRanges(n, [&](const auto& tile, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) stage(tile, i);
    });
  }

  // Calls stages(tile, i, work) for 0 <= i < n, for each key in the order of the stages. `work`
  // belongs to key i and lasts from its first to its last stage. On one thread the last stage sees
  // the keys in order.
  template <int kDistance, typename Work, typename... Stages>
  void Run(int64_t n, const Stages&... stages) const {
    ForRanges(n, [&](const auto& tile, int64_t begin, int64_t end) {
      Pipeline<kDistance, Work>(tile, begin, end, stages...);
    });
  }

 private:
  template <typename SomeTile, typename Part>
  void Split(int64_t n, const SomeTile& tile, const Part& part) const {
    const int64_t threads = Threads(n);
    if (threads == 1) return part(tile, 0, int64_t{0}, n);
    team->Run([&](int p) {
      if (p < threads) part(tile, p, n * p / threads, n * (p + 1) / threads);
    });
  }

  template <int kDistance, typename Work, typename SomeTile, typename... Stages>
  [[gnu::noinline]] static void Pipeline(const SomeTile& tile, int64_t begin, int64_t end,
                                         const Stages&... stages) {
    constexpr int64_t kDepth = kDistance * (static_cast<int64_t>(sizeof...(Stages)) - 1);
    constexpr uint64_t kRing = std::bit_ceil(static_cast<uint64_t>(kDepth) + 1);
    Work ring[kRing];
    for (int64_t step = begin; step < end + kDepth; ++step) {
      int64_t i = step;
      const auto run = [&](const auto& stage) {
        if (i >= begin && i < end) stage(tile, i, ring[static_cast<uint64_t>(i) % kRing]);
        i -= kDistance;
      };
      (run(stages), ...);
    }
  }
};

}  // namespace hotrow
