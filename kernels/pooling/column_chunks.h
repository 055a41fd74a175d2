// Walks the columns of a row in chunks whose width the compiler knows, so that a chunk's running
// values stay in vector registers while a whole bag goes by.
//
// Thread safety: a pure function.

#pragma once

#include <cstdint>
#include <type_traits>

namespace hotrow {

// Calls body(std::integral_constant<int, width>, first_column) for chunks that cover 0 .. dim-1 in
// order: 64 columns wide (eight AVX registers) as long as they fit, then 32, 16, 8, then 1.
template <typename Body>
inline void ForEachColumnChunk(int64_t dim, const Body& body) {
  int64_t column = 0;
  for (; column + 64 <= dim; column += 64) body(std::integral_constant<int, 64>{}, column);
  if (column + 32 <= dim) {
    body(std::integral_constant<int, 32>{}, column);
    column += 32;
  }
  if (column + 16 <= dim) {
    body(std::integral_constant<int, 16>{}, column);
    column += 16;
  }
  if (column + 8 <= dim) {
    body(std::integral_constant<int, 8>{}, column);
    column += 8;
  }
  for (; column < dim; ++column) body(std::integral_constant<int, 1>{}, column);
}

}  // namespace hotrow
