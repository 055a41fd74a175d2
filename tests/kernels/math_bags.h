// Bags for the tests of pooling, and pooling written down a second time, one value after the other.

#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/pooling/pooling.h"
#include "tests/kernels/math_helpers.h"

namespace hotrow {

struct Bags {
  PoolingMode mode = PoolingMode::kSum;
  std::vector<int64_t> offsets;
  std::vector<int32_t> positions;
  std::vector<float> weights;

  BagsView view() const { return {mode, offsets, positions, weights}; }
  int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
};

// `bag_count` bags of 0 .. 8 occurrences among `rows` rows, a tenth of them skipped.
inline Bags RandomBags(PoolingMode mode, int64_t bag_count, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bags bags{mode, {0}, {}, {}};
  for (int64_t b = 0; b < bag_count; ++b) {
    for (uint64_t i = random() % 9; i > 0; --i) {
      const bool skipped = random() % 10 == 0;
      bags.positions.push_back(
          skipped ? kSkippedPosition : static_cast<int32_t>(random() % static_cast<size_t>(rows)));
    }
    bags.offsets.push_back(static_cast<int64_t>(bags.positions.size()));
  }
  return bags;
}

// The occurrences of a bag that count.
inline std::vector<size_t> Counted(const Bags& bags, int64_t b) {
  std::vector<size_t> counted;
  for (int64_t i = bags.offsets[static_cast<size_t>(b)];
       i < bags.offsets[static_cast<size_t>(b) + 1]; ++i) {
    const auto occurrence = static_cast<size_t>(i);
    if (bags.positions[occurrence] != kSkippedPosition) counted.push_back(occurrence);
  }
  return counted;
}

struct Pooled {
  std::vector<float> out;
  std::vector<int32_t> argmax;
};

inline Pooled PoolByContract(const Bags& bags, const RowsAt& rows) {
  Pooled pooled;
  const int64_t dim = rows.view().dim;
  for (int64_t b = 0; b < bags.count(); ++b) {
    const std::vector<size_t> counted = Counted(bags, b);
    for (int64_t c = 0; c < dim; ++c) {
      float sum = 0.0F;
      float best = 0.0F;
      int32_t winner = -1;
      for (const size_t i : counted) {
        const float value = rows.At(bags.positions[i], c);
        sum += bags.weights.empty() ? value : bags.weights[i] * value;
        if (winner < 0 || value > best || (std::isnan(value) && !std::isnan(best))) {
          best = value;
          winner = static_cast<int32_t>(i);
        }
      }
      if (bags.mode == PoolingMode::kMean && !counted.empty()) {
        sum /= static_cast<float>(counted.size());
      }
      pooled.out.push_back(bags.mode == PoolingMode::kMax ? best : sum);
      pooled.argmax.push_back(winner);
    }
  }
  return pooled;
}

inline Pooled RunForward(const Bags& bags, const ConstRowsView& rows,
                         const HostSpace& space = HostSpace()) {
  const auto values = static_cast<size_t>(bags.count() * rows.dim);
  Pooled pooled{std::vector<float>(values, -77.0F), {}};
  if (bags.mode == PoolingMode::kMax) pooled.argmax.assign(values, -77);
  PoolForward(space, bags.view(), rows, pooled.out.data(), pooled.argmax);
  return pooled;
}

// Row gradients; `gradient` (bags, dim).
inline std::vector<float> RunBackward(const Bags& bags, const std::vector<float>& gradient,
                                      PoolGradient options, const HostSpace& space = HostSpace()) {
  options.out_gradient = gradient.data();
  std::vector<float> rows(static_cast<size_t>(options.unique_count * options.dim), -77.0F);
  PoolBackward(space, bags.view(), options, rows.data());
  return rows;
}

}  // namespace hotrow
