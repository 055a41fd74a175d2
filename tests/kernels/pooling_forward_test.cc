#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/pooling/pooling.h"
#include "tests/kernels/math_bags.h"

namespace hotrow {
namespace {

constexpr PoolingMode kModes[] = {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void ExpectAsByContract(const Bags& bags, const RowsAt& rows) {
  const Pooled expected = PoolByContract(bags, rows);
  const Pooled pooled = RunForward(bags, rows.view());
  EXPECT_EQ(Bits(pooled.out), Bits(expected.out));
  if (bags.mode == PoolingMode::kMax) {
    EXPECT_EQ(pooled.argmax, expected.argmax);
  }
}

TEST(PoolForward, AgreesWithTheContractAtEveryDimModeAndAddress) {
  constexpr uint64_t kSeed = 3;
  for (const PoolingMode mode : kModes) {
    for (const int64_t dim : {1, 7, 8, 9, 15, 16, 31, 32, 33, 64, 65, 100, 127, 128, 200}) {
      for (const int misalignment : {0, 1, 3}) {
        SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << " dim " << dim
                                        << " off " << misalignment << " seed " << kSeed);
        const RowsAt rows(40, dim, misalignment);
        ExpectAsByContract(RandomBags(mode, 33, 40, kSeed), rows);
      }
    }
  }
}

TEST(PoolForward, AgreesWithTheContractAtEveryNumberOfBags) {
  const RowsAt rows(40, 16, 1);
  for (const PoolingMode mode : kModes) {
    for (const int64_t bags : {0, 1, 31, 32, 33, 2000}) {
      ExpectAsByContract(RandomBags(mode, bags, 40, 5), rows);
    }
  }
}

TEST(PoolForward, WeightsMultiplyEachRowBeforeTheSum) {
  for (const int64_t dim : {1, 16, 33, 64}) {
    const RowsAt rows(40, dim, 1);
    Bags bags = RandomBags(PoolingMode::kSum, 50, 40, 7);
    for (size_t i = 0; i < bags.positions.size(); ++i) bags.weights.push_back(MixedValue(i, -1));
    ExpectAsByContract(bags, rows);
  }
}

TEST(PoolForward, ALongBagIsSummedInBagOrder) {
  const RowsAt rows(1000, 64, 0);
  Bags bags{PoolingMode::kSum, {0, 1000}, {}, {}};
  for (int32_t i = 0; i < 1000; ++i) bags.positions.push_back(i * 7 % 1000);
  ExpectAsByContract(bags, rows);
}

// Case 5: row i = (i, i), padding 2, ids 2 2 2 2 | 4 3 2 9.
TEST(PoolForward, PaddingCountsNowhere) {
  RowsAt rows(10, 2, 0);
  for (int64_t r = 0; r < 10; ++r) {
    rows.Set(r, 0, static_cast<float>(r));
    rows.Set(r, 1, static_cast<float>(r));
  }
  Bags bags{PoolingMode::kSum, {0, 4, 8}, {-1, -1, -1, -1, 4, 3, -1, 9}, {}};
  EXPECT_EQ(RunForward(bags, rows.view()).out, (std::vector<float>{0, 0, 16, 16}));
  bags.mode = PoolingMode::kMean;
  EXPECT_EQ(RunForward(bags, rows.view()).out,
            (std::vector<float>{0, 0, 16.0F / 3.0F, 16.0F / 3.0F}));
  bags.mode = PoolingMode::kMax;
  EXPECT_EQ(RunForward(bags, rows.view()).out, (std::vector<float>{0, 0, 9, 9}));
}

TEST(PoolForward, EmptyBagsGiveZerosInEveryMode) {
  const RowsAt rows(1, 5, 1);
  for (const PoolingMode mode : kModes) {
    const Pooled pooled = RunForward({mode, {0, 0, 2, 2}, {-1, -1}, {}}, rows.view());
    EXPECT_EQ(Bits(pooled.out), std::vector<uint32_t>(15, 0U));
    const size_t winners = mode == PoolingMode::kMax ? 15 : 0;
    EXPECT_EQ(pooled.argmax, std::vector<int32_t>(winners, -1));
  }
}

TEST(PoolForward, NoRowsAtAll) {
  const ConstRowsView rows{{}, 4};
  for (const PoolingMode mode : kModes) {
    EXPECT_TRUE(RunForward({mode, {0}, {}, {}}, rows).out.empty());
    EXPECT_EQ(RunForward({mode, {0, 0, 0}, {}, {}}, rows).out, std::vector<float>(8, 0.0F));
  }
}

// Case 8: rows (1,5) (3,2) (0,0), ids 0 1 | 2.
TEST(PoolForward, MaximumPerColumn) {
  RowsAt rows(3, 2, 0);
  const float values[3][2] = {{1, 5}, {3, 2}, {0, 0}};
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 2; ++c) rows.Set(r, c, values[r][c]);
  }
  const Pooled pooled = RunForward({PoolingMode::kMax, {0, 2, 3}, {0, 1, 2}, {}}, rows.view());
  EXPECT_EQ(pooled.out, (std::vector<float>{3, 5, 0, 0}));
  EXPECT_EQ(pooled.argmax, (std::vector<int32_t>{1, 0, 2, 2}));
}

TEST(PoolForward, MaximumOfNegativeValuesIsNotZero) {
  RowsAt rows(2, 1, 0);
  rows.Set(0, 0, -3.0F);
  rows.Set(1, 0, -2.0F);
  EXPECT_EQ(RunForward({PoolingMode::kMax, {0, 3}, {-1, 0, 1}, {}}, rows.view()).out[0], -2.0F);
}

TEST(PoolForward, TiesGoToTheFirstAndNanWinsInAnyOrder) {
  for (const int64_t dim : {1, 8, 64}) {
    RowsAt rows(4, dim, 1);
    const float values[] = {1.0F, 1.0F, kNan, 2.0F};
    for (int64_t r = 0; r < 4; ++r) {
      for (int64_t c = 0; c < dim; ++c) rows.Set(r, c, values[r]);
    }
    const Bags bags{
        PoolingMode::kMax, {0, 2, 4, 7, 10, 13}, {1, 0, 0, 0, 3, 2, 0, 2, 3, 2, 0, 3, 2}, {}};
    const Pooled pooled = RunForward(bags, rows.view());
    const int32_t winners[] = {0, 2, 5, 7, 12};
    for (int64_t b = 0; b < 5; ++b) {
      for (int64_t c = 0; c < dim; ++c) {
        const auto at = static_cast<size_t>(b * dim + c);
        EXPECT_EQ(pooled.argmax[at], winners[b]) << "bag " << b << " dim " << dim;
        EXPECT_EQ(std::isnan(pooled.out[at]), b >= 2);
      }
    }
  }
}

TEST(PoolForward, InfinityAndSignedZeroFollowTheRule) {
  RowsAt rows(3, 1, 0);
  const float infinity = std::numeric_limits<float>::infinity();
  rows.Set(0, 0, -infinity);
  rows.Set(1, 0, -0.0F);
  rows.Set(2, 0, 0.0F);
  const Pooled pooled =
      RunForward({PoolingMode::kMax, {0, 1, 3, 5}, {0, 1, 2, 2, 1}, {}}, rows.view());
  EXPECT_EQ(pooled.out[0], -infinity);
  EXPECT_EQ(pooled.argmax, (std::vector<int32_t>{0, 1, 3}));
}

}  // namespace
}  // namespace hotrow
