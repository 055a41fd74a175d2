#include "kernels/initializers/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/initializers/initial_value.h"
#include "tests/kernels/math_helpers.h"
#include "tests/kernels/math_initializer_vectors.h"

namespace hotrow {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMaxFloat = std::numeric_limits<float>::max();

// (keys, dim) initial values, written `misalignment` bytes off a float's alignment.
std::vector<float> InitialValues(const Initializer& initializer, const std::vector<Key>& keys,
                                 int64_t dim, size_t misalignment = 0) {
  std::vector<std::byte> bytes(keys.size() * static_cast<size_t>(dim) * 4 + 4);
  std::vector<RowPointer> rows;
  for (size_t i = 0; i < keys.size(); ++i) {
    rows.push_back(AsRow(bytes.data() + misalignment + i * static_cast<size_t>(dim) * 4));
  }
  InitializeRows(initializer, keys, {rows, dim});
  std::vector<float> values(keys.size() * static_cast<size_t>(dim));
  std::memcpy(values.data(), bytes.data() + misalignment, values.size() * 4);
  return values;
}

TEST(InitializeRows, EqualsTheIndependentVectors) {
  for (const InitialValueVector& vector : kInitialValueVectors) {
    ASSERT_TRUE(ValidateInitializer(vector.initializer).ok());
    if (vector.column > 4096) {  // one column of a very wide row
      const uint64_t stream = MixKey(vector.initializer.table_salt ^ vector.initializer.seed);
      const double q = CentredProbability(InitialBits(stream, MixKey(vector.key), vector.column));
      EXPECT_EQ(Bits(static_cast<float>(NormalQuantile(q))), vector.value_bits);
    }
    const std::vector<float> row =
        InitialValues(vector.initializer, {vector.key}, vector.column + 1);
    EXPECT_EQ(Bits(row.back()), vector.value_bits)
        << "key " << vector.key << " column " << vector.column << " value " << row.back();
  }
}

TEST(InitializeRows, AColumnDependsOnNeitherDimNorAddressNorNeighbours) {
  for (const InitializerKind kind : {InitializerKind::kUniform, InitializerKind::kNormal}) {
    const Initializer initializer{kind, -0.25F, 0.5F, 77, 5};
    const std::vector<float> all = InitialValues(initializer, {1, 2, 3, UINT64_MAX}, 200);
    for (const int64_t dim : {1, 31, 32, 33, 63, 64, 65, 127, 129}) {
      for (const size_t misalignment : {0, 1, 3}) {
        const std::vector<float> one = InitialValues(initializer, {3}, dim, misalignment);
        EXPECT_EQ(Bits(one), Bits({all.begin() + 400, all.begin() + 400 + dim})) << "dim " << dim;
      }
    }
  }
}

TEST(InitializeRows, SeedTableAndKeyEachChangeTheRow) {
  const Initializer base{InitializerKind::kNormal, 0.0F, 1.0F, 1, 2};
  Initializer other_seed = base;
  other_seed.seed = 3;
  Initializer other_table = base;
  other_table.table_salt = 4;
  const std::vector<float> row = InitialValues(base, {9}, 16);
  EXPECT_NE(row, InitialValues(other_seed, {9}, 16));
  EXPECT_NE(row, InitialValues(other_table, {9}, 16));
  EXPECT_NE(row, InitialValues(base, {10}, 16));
  EXPECT_EQ(row, InitialValues(base, {9}, 16));
}

TEST(InitializeRows, ZerosAndConstantFillTheRow) {
  EXPECT_EQ(InitialValues({InitializerKind::kZeros, 3.0F, 3.0F, 1, 1}, {1, 2}, 33),
            std::vector<float>(66, 0.0F));
  EXPECT_EQ(InitialValues({InitializerKind::kConstant, -1.5F, 0.0F, 1, 1}, {1, 2}, 33, 1),
            std::vector<float>(66, -1.5F));
}

TEST(InitializeRows, UniformStaysBelowHighAndFillsTheRange) {
  const std::pair<float, float> ranges[] = {
      {-0.05F, 0.05F},       {0.0F, 1.0F},    {-1.0F, 0.0F},  {16777215.0F, 16777216.0F},
      {1e6F, 1000000.0625F}, {-1e30F, 1e30F}, {0.0F, 1e-45F}, {-1e-45F, -0.0F}};
  std::vector<Key> keys(2000);
  for (Key key = 0; key < keys.size(); ++key) keys[key] = key;
  for (const auto& [low, high] : ranges) {
    const Initializer initializer{InitializerKind::kUniform, low, high, 3, 4};
    const std::vector<float> values = InitialValues(initializer, keys, 100);
    const auto [least, greatest] = std::ranges::minmax(values);
    EXPECT_GE(least, low);
    EXPECT_LT(greatest, high);
    if (high - low < 0.01F || high - low > 1e6F) continue;  // too few float32 in the range
    double sum = 0.0;
    for (const float value : values) sum += value;
    const double centre = (double{low} + high) / 2;
    const double width = double{high} - low;
    // 200,000 draws: the mean's standard deviation is width / 1549.
    EXPECT_NEAR(sum / 200000.0, centre, 4 * width / 1549 + (low > 100 ? width : 0));
    EXPECT_LT(least, low + width * 1e-3);
  }
}

TEST(InitializeRows, UniformOfEqualBoundsIsThatValue) {
  EXPECT_EQ(InitialValues({InitializerKind::kUniform, 5.0F, 5.0F, 1, 1}, {1}, 8),
            std::vector<float>(8, 5.0F));
}

// A million draws; each bound is at least four standard deviations of its statistic.
TEST(InitializeRows, NormalHasTheMomentsAndTailsOfTheNormalDistribution) {
  std::vector<Key> keys(10000);
  for (Key key = 0; key < keys.size(); ++key) keys[key] = key;
  const std::vector<float> values =
      InitialValues({InitializerKind::kNormal, 0.0F, 1.0F, 12345, 6}, keys, 100);
  double moments[5] = {};
  int beyond_two = 0;
  int beyond_four = 0;
  for (const double value : values) {
    double power = 1.0;
    for (double& moment : moments) {
      moment += power / 1e6;
      power *= value;
    }
    beyond_two += std::abs(value) > 2.0 ? 1 : 0;
    beyond_four += std::abs(value) > 4.0 ? 1 : 0;
  }
  EXPECT_NEAR(moments[1], 0.0, 0.004);
  EXPECT_NEAR(moments[2], 1.0, 0.006);
  EXPECT_NEAR(moments[3], 0.0, 0.016);
  EXPECT_NEAR(moments[4], 3.0, 0.04);
  EXPECT_NEAR(beyond_two, 45500, 900);  // 2 (1 - Phi(2)) = .0455003
  EXPECT_NEAR(beyond_four, 63, 40);     // 2 (1 - Phi(4)) = 6.334e-5
}

// Quantiles to 20 digits at p = (k + 1/2) / 2^53, computed with 40 digits.
TEST(NormalQuantile, AgreesWithFortyDigits) {
  const std::pair<uint64_t, double> points[] = {
      {0, -8.2923610758135955382},
      {1, -8.1607078408585831755},
      {125091, -6.6579046172108323392},  // r = 5, where the tail's formulas meet
      {123456789012345, -2.2055872310293278393},
      {675539944105574, -1.4395314709384558369},  // q = -.425, where centre and tail meet
      {4503599627370495, -1.3914582123358834611e-16},
      {4503599627370496, 1.3914582123358834611e-16},
      {8331659310635418, 1.4395314709384566212},
      {9007199254740991, 8.2923610758135955382}};
  for (const auto& [k, quantile] : points) {
    EXPECT_NEAR(NormalQuantile(CentredProbability(k << 11)) / quantile, 1.0, 1e-15) << k;
  }
}

TEST(NaturalLog, AgreesWithFortyDigits) {
  const std::pair<double, double> points[] = {
      {1e-300, -690.77552789821370518},      {0.01, -4.6051701859880913472},
      {0.5, -0.69314718055994530942},        {0.7071, -0.34658318037194200028},
      {0.999999, -1.0000005000290890269e-6}, {3.0, 1.0986122886681096914}};
  for (const auto& [x, log] : points) EXPECT_NEAR(NaturalLog(x) / log, 1.0, 5e-16) << x;
  EXPECT_EQ(NaturalLog(1.0), 0.0);
}

TEST(ValidateInitializer, RefusesWhatCouldGiveAValueThatIsNotFinite) {
  const auto refuses = [](InitializerKind kind, float a, float b) {
    return ValidateInitializer({kind, a, b, 0, 0}).code() == Code::kInvalidArgument;
  };
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_TRUE(refuses(InitializerKind::kConstant, bad, 0.0F));
    EXPECT_TRUE(refuses(InitializerKind::kUniform, bad, 1.0F));
    EXPECT_TRUE(refuses(InitializerKind::kUniform, 0.0F, bad));
    EXPECT_TRUE(refuses(InitializerKind::kNormal, bad, 1.0F));
    EXPECT_TRUE(refuses(InitializerKind::kNormal, 0.0F, bad));
  }
  EXPECT_TRUE(refuses(InitializerKind::kUniform, 1.0F, 0.5F));
  EXPECT_TRUE(refuses(InitializerKind::kUniform, -kMaxFloat, kMaxFloat));
  EXPECT_TRUE(refuses(InitializerKind::kNormal, 0.0F, -1.0F));
  EXPECT_TRUE(refuses(InitializerKind::kNormal, 0.0F, kMaxFloat / 8));
  EXPECT_FALSE(refuses(InitializerKind::kZeros, kNan, kNan));
  EXPECT_FALSE(refuses(InitializerKind::kConstant, -kMaxFloat, kNan));
  EXPECT_FALSE(refuses(InitializerKind::kUniform, 2.0F, 2.0F));
  EXPECT_FALSE(refuses(InitializerKind::kNormal, -1.0F, 0.0F));
}

TEST(ValidateInitializer, NamesTheField) {
  EXPECT_STREQ(ValidateInitializer({InitializerKind::kUniform, 2.0F, 1.0F, 0, 0}).message(),
               "uniform: low must not be greater than high");
}

}  // namespace
}  // namespace hotrow
