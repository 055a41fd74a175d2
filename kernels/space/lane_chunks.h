// Columns of a row in chunks whose width the compiler knows, spread over the lanes of a tile.
//
// Four columns a lane keep four loads under way, which hides more of the memory's latency than four
// passes over the same rows.
//
// Thread safety: pure functions. Shapes: rows of `dim` >= 1 columns.

#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace hotrow {

// Columns that one call works on: kWidth of them, kStride apart.
template <int kColumns, int kApart>
struct Chunk {
  static constexpr int kWidth = kColumns;
  static constexpr int kStride = kApart;
  int64_t column;  // the first
};

// Calls body(chunk) for chunks that cover 0 .. dim-1: four columns a lane and then one. Lanes next
// to each other work on columns next to each other.
template <typename Tile, typename Body>
HOTROW_HOST_DEVICE void ForEachLaneChunk(const Tile& tile, int64_t dim, const Body& body) {
  constexpr int kLanes = Tile::kWidth;
  int64_t column = 0;
  for (; column + 4 * kLanes <= dim; column += 4 * kLanes) {
    tile.ForEach(kLanes, [&](int64_t lane) { body(Chunk<4, kLanes>{column + lane}); });
  }
  tile.ForEach(dim - column, [&](int64_t rest) { body(Chunk<1, 1>{column + rest}); });
}

}  // namespace hotrow
