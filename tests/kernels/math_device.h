// The memory that launches of pooling and dedupe work in, for the tests.

#pragma once

#include <cstddef>
#include <vector>

#include "kernels/dedupe/dedupe_launch.h"
#include "tests/kernels/math_helpers.h"

namespace hotrow::testing {

// Rows of `dim` columns, one after the other in `values`.
class PointersTo {
 public:
  PointersTo(std::vector<float>* values, int64_t dim) {
    for (size_t i = 0; i < values->size(); i += static_cast<size_t>(dim)) {
      rows_.push_back(AsRow(static_cast<void*>(values->data() + i)));
    }
  }
  operator std::span<const RowPointer>() const { return rows_; }  // NOLINT: stands for the rows

 private:
  std::vector<RowPointer> rows_;
};

// One element more than are used, so that no array is null.
template <typename T>
std::vector<T> Array(int64_t n) {
  return std::vector<T>(static_cast<size_t>(n) + 1, static_cast<T>(77));
}

class SumScratch {
 public:
  SumScratch(int64_t n, int64_t targets, int64_t dim)
      : sorted_(Array<uint32_t>(n)),
        numbers_(Array<int32_t>(n)),
        order_(Array<int32_t>(n)),
        begins_(Array<int32_t>(targets)),
        ends_(Array<int32_t>(targets)),
        counts_(Array<int32_t>(targets)),
        sums_before_(Array<int32_t>(targets)),
        later_targets_(Array<int32_t>(LaterBlocks(n))),
        blocks_(Array<float>(LaterBlocks(n) * dim)) {}

  DeviceSums view() {
    return {sorted_.data(),
            numbers_.data(),
            order_.data(),
            begins_.data(),
            ends_.data(),
            {counts_.data(), sums_before_.data(), later_targets_.data(), blocks_.data()},
            {nullptr, int64_t{1} << 30}};
  }

 private:
  std::vector<uint32_t> sorted_;
  std::vector<int32_t> numbers_, order_, begins_, ends_;
  std::vector<int32_t> counts_, sums_before_, later_targets_;
  std::vector<float> blocks_;
};

class DedupeMemory {
 public:
  explicit DedupeMemory(int64_t n)
      : n_(n), unique_(Array<Key>(n)), inverse_(Array<int32_t>(n)), sorted_(Array<Key>(n)) {
    for (std::vector<int32_t>& array : arrays_) array = Array<int32_t>(n);
  }

  DeviceDedupe view() {
    return {unique_.data(),
            inverse_.data(),
            &count_,
            sorted_.data(),
            arrays_[0].data(),
            arrays_[1].data(),
            {arrays_[2].data(), arrays_[3].data(), arrays_[4].data(), arrays_[5].data(),
             arrays_[6].data()},
            {nullptr, int64_t{1} << 30}};
  }
  std::vector<Key> Unique() const { return {unique_.begin(), unique_.begin() + count_}; }
  std::vector<int32_t> Inverse() const { return {inverse_.begin(), inverse_.begin() + n_}; }

 private:
  int64_t n_;
  int32_t count_ = -1;
  std::vector<Key> unique_;
  std::vector<int32_t> inverse_;
  std::vector<Key> sorted_;
  std::vector<int32_t> arrays_[7];
};

}  // namespace hotrow::testing
