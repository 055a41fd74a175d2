// What the tests of dedupe, pooling, initializers and optimizers share: values that depend on
// (key, column), rows at odd addresses, comparison by bits.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"

namespace hotrow {

// A value in [-1, 1) with 24 random bits.
inline float MixedValue(Key key, int64_t column) {
  const uint64_t bits = MixKey(MixKey(key) + static_cast<uint64_t>(column));
  return static_cast<float>(static_cast<int32_t>(bits >> 40) - (1 << 23)) * 0x1p-23F;
}

inline uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

inline std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(Bits(value));
  return bits;
}

// Rows of MixedValue, `misalignment` bytes off a 4-byte boundary and that far apart.
class RowsAt {
 public:
  RowsAt(int64_t rows, int64_t dim, int misalignment, Key first_key = 0)
      : dim_(dim), bytes_(static_cast<size_t>(rows * (dim * 4 + 4) + 8)) {
    for (int64_t r = 0; r < rows; ++r) {
      std::byte* row = bytes_.data() + r * (dim * 4 + misalignment) + misalignment;
      pointers_.push_back(AsRow(static_cast<const void*>(row)));
      for (int64_t c = 0; c < dim; ++c) Set(r, c, MixedValue(first_key + static_cast<Key>(r), c));
    }
  }

  void Set(int64_t row, int64_t column, float value) {
    const auto offset = reinterpret_cast<const std::byte*>(pointers_[static_cast<size_t>(row)]) -
                        bytes_.data() + column * 4;
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
  }

  float At(int64_t row, int64_t column) const {
    return pointers_[static_cast<size_t>(row)][column].value;
  }

  ConstRowsView view() const { return {pointers_, dim_}; }

 private:
  int64_t dim_;
  std::vector<std::byte> bytes_;
  std::vector<ConstRowPointer> pointers_;
};

// The order rule, written down a second time: blocks of 256 addends one after the other, then the
// blocks. Addends are (n, dim); the sum of none is 0.
inline std::vector<float> SumByOrderRule(const std::vector<std::vector<float>>& addends,
                                         int64_t dim) {
  std::vector<float> sum(static_cast<size_t>(dim), 0.0F);
  for (size_t c = 0; c < sum.size(); ++c) {
    std::vector<float> blocks;
    for (size_t i = 0; i < addends.size(); ++i) {
      if (i % 256 == 0) {
        blocks.push_back(addends[i][c]);
      } else {
        blocks.back() = blocks.back() + addends[i][c];
      }
    }
    for (size_t b = 0; b < blocks.size(); ++b) sum[c] = b == 0 ? blocks[b] : sum[c] + blocks[b];
  }
  return sum;
}

}  // namespace hotrow
