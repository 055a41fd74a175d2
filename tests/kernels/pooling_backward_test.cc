#include <gtest/gtest.h>

#include "kernels/pooling/pooling.h"
#include "tests/kernels/math_bags.h"

namespace hotrow {
namespace {

constexpr PoolingMode kModes[] = {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax};

std::vector<float> MixedGradient(int64_t bags, int64_t dim) {
  std::vector<float> gradient;
  for (int64_t b = 0; b < bags; ++b) {
    for (int64_t c = 0; c < dim; ++c) gradient.push_back(MixedValue(static_cast<Key>(b), c + 500));
  }
  return gradient;
}

// What each occurrence receives, then the order rule per row.
std::vector<float> BackwardByContract(const Bags& bags, const std::vector<float>& gradient,
                                      const PoolGradient& options) {
  const int64_t dim = options.dim;
  std::vector<std::vector<std::vector<float>>> addends(static_cast<size_t>(options.unique_count));
  for (int64_t b = 0; b < bags.count(); ++b) {
    const std::vector<size_t> counted = Counted(bags, b);
    for (const size_t i : counted) {
      std::vector<float> row;
      for (int64_t c = 0; c < dim; ++c) {
        const auto at = static_cast<size_t>(b * dim + c);
        float value = gradient[at];
        if (bags.mode == PoolingMode::kMean) value /= static_cast<float>(counted.size());
        if (!bags.weights.empty()) value = bags.weights[i] * value;
        if (bags.mode == PoolingMode::kMax && options.argmax[at] != static_cast<int32_t>(i)) {
          value = 0.0F;
        }
        row.push_back(value);
      }
      addends[static_cast<size_t>(bags.positions[i])].push_back(row);
    }
  }
  std::vector<float> rows;
  for (size_t r = 0; r < addends.size(); ++r) {
    for (const float sum : SumByOrderRule(addends[r], dim)) {
      rows.push_back(options.row_scale.empty() ? sum : sum * options.row_scale[r]);
    }
  }
  return rows;
}

void ExpectAsByContract(const Bags& bags, const RowsAt& rows, std::span<const float> row_scale) {
  const int64_t dim = rows.view().dim;
  const Pooled pooled = RunForward(bags, rows.view());
  const auto unique = static_cast<int64_t>(rows.view().rows.size());
  const PoolGradient options{nullptr, dim, pooled.argmax, row_scale, unique};
  const std::vector<float> gradient = MixedGradient(bags.count(), dim);
  EXPECT_EQ(Bits(RunBackward(bags, gradient, options)),
            Bits(BackwardByContract(bags, gradient, options)));
}

TEST(PoolBackward, AgreesWithTheContractInEveryMode) {
  constexpr uint64_t kSeed = 17;
  std::vector<float> scale;
  for (Key r = 0; r < 40; ++r) scale.push_back(MixedValue(r, 3));
  for (const PoolingMode mode : kModes) {
    for (const int64_t dim : {1, 8, 16, 31, 33, 64, 100}) {
      for (const int64_t bags : {0, 1, 31, 32, 33, 300}) {
        SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << " dim " << dim
                                        << " bags " << bags << " seed " << kSeed);
        const RowsAt rows(40, dim, 1);
        ExpectAsByContract(RandomBags(mode, bags, 40, kSeed), rows, {});
        ExpectAsByContract(RandomBags(mode, bags, 40, kSeed), rows, scale);
      }
    }
  }
}

TEST(PoolBackward, HotRowsFollowTheBlockRule) {
  for (const PoolingMode mode : kModes) {
    const RowsAt rows(3, 16, 0);
    ExpectAsByContract(RandomBags(mode, 1500, 3, 23), rows, {});
  }
}

TEST(PoolBackward, WeightsMultiplyTheGradient) {
  const RowsAt rows(40, 20, 1);
  Bags bags = RandomBags(PoolingMode::kSum, 300, 40, 29);
  for (size_t i = 0; i < bags.positions.size(); ++i) bags.weights.push_back(MixedValue(i, -1));
  ExpectAsByContract(bags, rows, {});
}

// Case 5: mean gradients of rows 4, 3, 9 are 1/3 each; the padded row gets none.
TEST(PoolBackward, PaddingGetsNoGradient) {
  const Bags bags{PoolingMode::kMean, {0, 4, 8}, {-1, -1, -1, -1, 0, 1, -1, 2}, {}};
  const PoolGradient options{nullptr, 2, {}, {}, 4};
  const float third = 1.0F / 3.0F;
  EXPECT_EQ(RunBackward(bags, std::vector<float>(4, 1.0F), options),
            (std::vector<float>{third, third, third, third, third, third, 0, 0}));
}

// Case 8: keys 1 1 3 in one bag, sum, gradients divided by the key's count.
TEST(PoolBackward, ScaleByFrequency) {
  const std::vector<float> scale{0.5F, 1.0F};
  const Bags bags{PoolingMode::kSum, {0, 3}, {0, 0, 1}, {}};
  EXPECT_EQ(RunBackward(bags, {1.0F}, {nullptr, 1, {}, scale, 2}),
            (std::vector<float>{1.0F, 1.0F}));
}

// Case 8: rows (1,5) (3,2) (0,0), ids 0 1 | 2; and a tie, which counts once.
TEST(PoolBackward, MaximumGoesToTheWinnerOnly) {
  const Bags bags{PoolingMode::kMax, {0, 2, 3}, {0, 1, 2}, {}};
  const std::vector<int32_t> argmax{1, 0, 2, 2};
  EXPECT_EQ(RunBackward(bags, std::vector<float>(4, 1.0F), {nullptr, 2, argmax, {}, 3}),
            (std::vector<float>{0, 1, 1, 0, 1, 1}));

  RowsAt row(1, 2, 0);
  const Bags tie{PoolingMode::kMax, {0, 2}, {0, 0}, {}};
  const Pooled pooled = RunForward(tie, row.view());
  EXPECT_EQ(RunBackward(tie, {1.0F, 1.0F}, {nullptr, 2, pooled.argmax, {}, 1}),
            (std::vector<float>{1, 1}));
}

TEST(PoolBackward, EmptyBagsChangeNothing) {
  for (const PoolingMode mode : kModes) {
    const std::vector<int32_t> argmax(mode == PoolingMode::kMax ? 4 : 0, -1);
    const Bags bags{mode, {0, 0, 1}, {-1}, {}};
    EXPECT_EQ(RunBackward(bags, std::vector<float>(4, 1.0F), {nullptr, 2, argmax, {}, 1}),
              (std::vector<float>{0, 0}));
  }
}

// 32 strided partial sums, then halves added to halves.
float DotByContract(const RowsAt& rows, int64_t row, const float* gradient) {
  std::vector<float> partial(32, 0.0F);
  for (int64_t c = 0; c < rows.view().dim; ++c) {
    partial[static_cast<size_t>(c % 32)] += rows.At(row, c) * gradient[c];
  }
  for (size_t half = 16; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) partial[j] += partial[j + half];
  }
  return partial[0];
}

TEST(PoolBackwardWeights, IsTheDotProductInTheFixedShape) {
  for (const int64_t dim : {1, 16, 31, 32, 33, 64, 65, 200}) {
    const RowsAt rows(40, dim, 1);
    const Bags bags = RandomBags(PoolingMode::kSum, 100, 40, 31);
    const std::vector<float> gradient = MixedGradient(100, dim);
    std::vector<float> weights(bags.positions.size(), -77.0F);
    const PoolGradient options{gradient.data(), dim, {}, {}, 40};
    PoolBackwardWeights(bags.view(), options, rows.view(), weights.data());
    for (int64_t b = 0; b < bags.count(); ++b) {
      for (int64_t i = bags.offsets[static_cast<size_t>(b)];
           i < bags.offsets[static_cast<size_t>(b) + 1]; ++i) {
        const int32_t row = bags.positions[static_cast<size_t>(i)];
        const float expected =
            row == kSkippedPosition
                ? 0.0F
                : DotByContract(rows, row, &gradient[static_cast<size_t>(b * dim)]);
        EXPECT_EQ(Bits(weights[static_cast<size_t>(i)]), Bits(expected)) << "dim " << dim;
      }
    }
  }
}

}  // namespace
}  // namespace hotrow
