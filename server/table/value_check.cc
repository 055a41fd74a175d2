#include "server/table/value_check.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace hotrow {
namespace {

// Magnitudes as integers: bit patterns of non-negative floats are ordered like the floats, with
// infinity and then NaN above all finite ones. One maximum answers both questions.
uint32_t HighestMagnitude(ConstRowPointer row, int64_t dim) {
  uint32_t highest = 0;
  for (int64_t column = 0; column < dim; ++column) {
    uint32_t bits;
    std::memcpy(&bits, row + column, sizeof(bits));
    highest = std::max(highest, bits & 0x7fffffffU);
  }
  return highest;
}

}  // namespace

bool MagnitudesWithin(const ConstRowsView& rows, float bound) {
  const uint32_t limit = std::bit_cast<uint32_t>(bound) & 0x7fffffffU;
  for (const ConstRowPointer row : rows.rows) {
    if (HighestMagnitude(row, rows.dim) > limit) return false;
  }
  return true;
}

}  // namespace hotrow
