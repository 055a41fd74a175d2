// CudaSpace: runs a stage over the items of a batch by the tiles of a device's grid, on one stream.
//
// A stage is a trivially copyable functor, stage(tile, i); what it points to is device memory. The
// same functor runs in HostSpace. A launch of no items launches nothing.
//
// Thread safety: that of the stream. Ownership: borrows the stream.
// Errors: kInvalidArgument for a negative number of items; else what the stream answers.
//
// A host compiler makes of a stage a function that runs it in host memory by tiles of as many
// lanes, for streams that stand in for a device's: they add the team of threads, or null, as a
// third argument.

#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/base/result.h"
#include "kernels/space/device_stream.h"
#include "kernels/space/tile.h"

#if defined(__CUDACC__)
#include "kernels/space/cuda_tile.cuh"
#else
#include "kernels/space/host_space.h"
#endif

namespace hotrow {

inline constexpr int kBlockThreads = 256;

// Blocks that a multiprocessor holds at once, at least: leaves a thread 80 registers. A stage with
// kOneTile runs alone and may use them all.
template <typename Stage>
constexpr int BlocksAtOnce() {
  if constexpr (requires { Stage::kOneTile; }) {
    return 1;
  } else {
    return 3;
  }
}
// Beyond this a block takes several shares: enough to fill any device several times over.
inline constexpr int64_t kMaxBlocks = 16384;

#if defined(__CUDACC__)

template <int W, typename Stage>
__global__ void __launch_bounds__(kBlockThreads, BlocksAtOnce<Stage>())
    RunStage(const Stage stage, int64_t n) {
  const CudaTile<W> tile;
  for (int64_t i = CudaTile<W>::Number(); i < n; i += CudaTile<W>::Count()) stage(tile, i);
}

#else

template <int W, typename Stage>
void RunStage(void** arguments) {
  const auto& stage = *static_cast<const Stage*>(arguments[0]);
  const int64_t n = *static_cast<const int64_t*>(arguments[1]);
  const HostSpace space{static_cast<ThreadTeam*>(arguments[2])};
  space.ForRanges(n, [&](const auto& /*tile*/, int64_t begin, int64_t end) {
    // Last to first: a stage does not depend on the order of its items.
    for (int64_t i = end - 1; i >= begin; --i) stage(HostTile<W>(), i);
  });
}

#endif

class CudaSpace {
 public:
  explicit CudaSpace(DeviceStream& stream) : stream_(&stream) {}

  DeviceStream& stream() const { return *stream_; }

  // Calls stage(tile, i) for 0 <= i < n by tiles of W lanes. Stage::kName is the record's name.
  template <int W, typename Stage>
  Result Run(int64_t n, const Stage& stage) const {
    static_assert(std::is_trivially_copyable_v<Stage>);
    if (n < 0) return Result(Code::kInvalidArgument, "a stage has a negative number of items");
    if (n == 0) return {};
    constexpr int64_t kTilesPerBlock = kBlockThreads / W;
    Stage parameter = stage;
    void* arguments[] = {&parameter, &n};
    DeviceLaunch launch;
    launch.kernel = reinterpret_cast<const void*>(&RunStage<W, Stage>);
    launch.name = Stage::kName;
    launch.blocks = std::min((n - 1) / kTilesPerBlock + 1, kMaxBlocks);
    launch.threads = kBlockThreads;
    launch.arguments = arguments;
    return stream_->Launch(launch);
  }

 private:
  DeviceStream* stream_;
};

// Launches of a batch, one after the other: the first refusal is the result, and nothing follows.
#define HOTROW_RETURN_IF_ERROR(expression)                                          \
  do {                                                                              \
    if (const ::hotrow::Result hotrow_result = (expression); !hotrow_result.ok()) { \
      return hotrow_result;                                                         \
    }                                                                               \
  } while (false)

}  // namespace hotrow
