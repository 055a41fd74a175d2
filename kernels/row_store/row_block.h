// RowBlock: whole rows that lie outside of a store, on their way from one tier to another.
//
// Thread safety: a value. Ownership: owns its bytes.
// Shapes: n keys, n scores, n records of row_bytes (RowLayout) each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/key.h"

namespace hotrow {

struct RowBlock {
  std::vector<Key> keys;
  std::vector<uint32_t> scores;
  std::vector<std::byte> records;

  int64_t size() const { return static_cast<int64_t>(keys.size()); }
  std::byte* record(int64_t i, int64_t row_bytes) { return records.data() + i * row_bytes; }
  const std::byte* record(int64_t i, int64_t row_bytes) const {
    return records.data() + i * row_bytes;
  }

  void Add(Key key, uint32_t score, const std::byte* record, int64_t row_bytes) {
    keys.push_back(key);
    scores.push_back(score);
    records.insert(records.end(), record, record + row_bytes);
  }
  // Keeps the memory.
  void Clear() {
    keys.clear();
    scores.clear();
    records.clear();
  }
};

}  // namespace hotrow
