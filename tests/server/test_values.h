// Values for tests: a mixed hash of what they stand for, so that no two are equal by chance.

#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/key.h"

namespace hotrow::test {

// In [-1, 1), a multiple of 2^-20: sums of a few are exact.
inline float MixedValue(uint64_t key, uint64_t column, uint64_t salt = 0) {
  const uint64_t mixed = MixKey(MixKey(key ^ MixKey(salt + 1)) + column);
  return static_cast<float>(static_cast<int64_t>(mixed >> 43) - (1 << 20)) / (1 << 20);
}

inline std::vector<float> MixedRows(const std::vector<Key>& keys, int64_t dim, uint64_t salt = 0) {
  std::vector<float> rows;
  for (const Key key : keys) {
    for (int64_t column = 0; column < dim; ++column) rows.push_back(MixedValue(key, column, salt));
  }
  return rows;
}

// `count` different keys of all magnitudes, negative ones included.
inline std::vector<Key> MixedKeys(int64_t count, uint64_t salt = 0) {
  std::vector<Key> keys;
  for (int64_t i = 0; i < count; ++i) keys.push_back(MixKey(i + (salt << 32) + 1));
  return keys;
}

}  // namespace hotrow::test
