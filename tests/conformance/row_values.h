// Keys and row values of tests: values are a mixed hash of (key, column), so that a row in the
// wrong place, a column in the wrong place and a torn row all show.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/base/key.h"
#include "kernels/base/row_layout.h"

namespace hotrow::testing {

// Keys that other stores have reserved, and neighbours.
inline std::vector<Key> SpecialKeys() {
  const auto lowest = static_cast<Key>(INT64_MIN);
  return {0, 1, static_cast<Key>(-1), static_cast<Key>(-2), lowest, lowest + 1, lowest - 1};
}

// `count` distinct keys, the same for the same `begin`.
inline std::vector<Key> Keys(int64_t begin, int64_t count) {
  std::vector<Key> keys;
  for (int64_t i = begin; i < begin + count; ++i) {
    keys.push_back(MixKey(static_cast<uint64_t>(i) + 1) * 3);
  }
  return keys;
}

inline float ValueOf(Key key, int64_t column) {
  const uint64_t mixed = MixKey(MixKey(key ^ 0x5bd1e995U) + static_cast<uint64_t>(column));
  return static_cast<float>(mixed >> 40) * 0x1p-23F - 1.0F;
}

// A complete record of `key`: weights, state and metadata.
inline std::vector<std::byte> RecordOf(const RowLayout& layout, Key key) {
  std::vector<std::byte> record(static_cast<size_t>(layout.row_bytes));
  for (int64_t column = 0; column < layout.dim + layout.state_columns; ++column) {
    const float value = ValueOf(key, column);
    std::memcpy(record.data() + column * 4, &value, sizeof(value));
  }
  RowMeta meta;
  meta.lsn = MixKey(key + 17);
  meta.step_count = static_cast<uint32_t>(MixKey(key + 18));
  std::memcpy(record.data() + layout.meta_offset, &meta, sizeof(meta));
  return record;
}

}  // namespace hotrow::testing
