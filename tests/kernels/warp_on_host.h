// A warp of threads: what cuda_tile.cuh asks of nvcc, on the host. Each lane is a thread; lanes
// meet in the intrinsics and nowhere else, so ThreadSanitizer sees what lanes race for between two
// of them. It does not see a missing Sync where a shuffle follows: here every intrinsic orders
// memory, on a device only __syncwarp does.

#pragma once

#include <barrier>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#define __device__

namespace hotrow::testing {

struct Dim {
  unsigned x = 0;
};

inline constexpr int kWarpLanes = 32;

// One warp, seen by its lanes. Lanes of one tile meet at the barrier of the tile's first lane.
class Warp {
 public:
  explicit Warp(int tile_width) {
    for (int first = 0; first < kWarpLanes; first += tile_width) {
      barriers_.push_back(std::make_unique<std::barrier<>>(tile_width));
    }
    width_ = tile_width;
  }

  // All lanes of a tile give a word and see those of the others.
  template <typename F>
  auto Exchange(int lane, uint64_t word, const F& f) {
    std::barrier<>& tile = *barriers_[static_cast<size_t>(lane / width_)];
    words_[lane] = word;
    tile.arrive_and_wait();
    const auto result = f(words_);
    tile.arrive_and_wait();
    return result;
  }

 private:
  int width_ = 1;
  std::vector<std::unique_ptr<std::barrier<>>> barriers_;
  uint64_t words_[kWarpLanes] = {};
};

inline thread_local Dim threadIdx;
inline thread_local Dim blockIdx;
inline thread_local Dim blockDim;
inline thread_local Dim gridDim;
inline thread_local Warp* current_warp = nullptr;

template <typename T>
uint64_t ToWord(T value) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(value));
  return word;
}
template <typename T>
T FromWord(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

inline int Lane() { return static_cast<int>(threadIdx.x); }

// The value of the lane that `source(place in tile)` names, or the own one beyond the tile.
template <typename T, typename Source>
T Shuffle(T value, int width, const Source& source) {
  const int first = Lane() / width * width;
  return current_warp->Exchange(Lane(), ToWord(value), [&](const uint64_t* words) {
    const int from = source(Lane() - first);
    return from >= width ? value : FromWord<T>(words[first + from]);
  });
}

template <typename T>
T __shfl_sync(uint32_t /*mask*/, T value, int lane, int width) {
  return Shuffle(value, width, [&](int) { return lane; });
}
template <typename T>
T __shfl_down_sync(uint32_t /*mask*/, T value, int apart, int width) {
  return Shuffle(value, width, [&](int place) { return place + apart; });
}
template <typename T>
T __shfl_xor_sync(uint32_t /*mask*/, T value, int apart, int width) {
  return Shuffle(value, width, [&](int place) { return place ^ apart; });
}
inline uint32_t __ballot_sync(uint32_t mask, bool predicate) {
  return current_warp->Exchange(Lane(), predicate ? 1 : 0, [&](const uint64_t* words) {
    uint32_t ballot = 0;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      if ((mask >> lane & 1) != 0 && words[lane] != 0) ballot |= uint32_t{1} << lane;
    }
    return ballot;
  });
}
inline uint32_t __reduce_or_sync(uint32_t mask, uint32_t value) {
  return current_warp->Exchange(Lane(), value, [&](const uint64_t* words) {
    uint32_t all = 0;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      if ((mask >> lane & 1) != 0) all |= static_cast<uint32_t>(words[lane]);
    }
    return all;
  });
}
inline void __syncwarp(uint32_t /*mask*/) {
  current_warp->Exchange(Lane(), 0, [](const uint64_t*) { return 0; });
}
inline uint32_t __vcmpeq4(uint32_t a, uint32_t b) {
  uint32_t equal = 0;
  for (int i = 0; i < 32; i += 8) {
    if ((a >> i & 0xff) == (b >> i & 0xff)) equal |= uint32_t{0xff} << i;
  }
  return equal;
}

// Runs lane(), on each of the 32 lanes of one warp whose tiles have `tile_width` lanes.
inline void RunWarp(int tile_width, const std::function<void()>& lane) {
  Warp warp(tile_width);
  std::vector<std::thread> lanes;
  for (int i = 0; i < kWarpLanes; ++i) {
    lanes.emplace_back([&, i] {
      threadIdx.x = static_cast<unsigned>(i);
      blockDim.x = kWarpLanes;
      gridDim.x = 1;
      current_warp = &warp;
      lane();
    });
  }
  for (std::thread& thread : lanes) thread.join();
}

}  // namespace hotrow::testing

// Where cuda_tile.cuh looks for them.
namespace hotrow {
using testing::__ballot_sync;
using testing::__reduce_or_sync;
using testing::__shfl_down_sync;
using testing::__shfl_sync;
using testing::__shfl_xor_sync;
using testing::__syncwarp;
using testing::__vcmpeq4;
using testing::blockDim;
using testing::blockIdx;
using testing::gridDim;
using testing::threadIdx;
}  // namespace hotrow
