#include <gtest/gtest.h>

#include <random>

#include "kernels/dedupe/dedupe.h"
#include "tests/kernels/math_helpers.h"

namespace hotrow {
namespace {

// One occurrence after the other, straight from the contract.
std::vector<float> SumByContract(const SumInput& input) {
  const int64_t dim = input.rows.dim;
  std::vector<std::vector<std::vector<float>>> addends(static_cast<size_t>(input.unique_count));
  for (size_t i = 0; i < input.inverse.size(); ++i) {
    if (input.inverse[i] == kSkippedPosition) continue;
    const size_t source = input.source.empty() ? i : static_cast<size_t>(input.source[i]);
    std::vector<float> row;
    for (int64_t c = 0; c < dim; ++c) {
      const float value = input.rows.rows[source][c];
      row.push_back(input.weights.empty() ? value : input.weights[i] * value);
    }
    addends[static_cast<size_t>(input.inverse[i])].push_back(row);
  }
  std::vector<float> sums;
  for (const auto& target : addends) {
    const std::vector<float> sum = SumByOrderRule(target, dim);
    sums.insert(sums.end(), sum.begin(), sum.end());
  }
  return sums;
}

std::vector<float> RunSummer(DuplicateSummer& summer, const SumInput& input) {
  std::vector<float> sums(static_cast<size_t>(input.unique_count * input.rows.dim), -77.0F);
  summer.Run(input, sums.data());
  return sums;
}

TEST(DuplicateSummer, FollowsTheBlockRuleAtEveryCount) {
  DuplicateSummer summer;
  for (const int64_t copies : {0, 1, 2, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1025, 4096}) {
    for (const int64_t dim : {1, 3, 8, 16, 33, 64}) {
      const RowsAt rows(copies, dim, 1);
      const std::vector<int32_t> inverse(static_cast<size_t>(copies), 0);
      const SumInput input{inverse, {}, {}, rows.view(), 1};
      EXPECT_EQ(Bits(RunSummer(summer, input)), Bits(SumByContract(input)))
          << copies << " copies, dim " << dim;
    }
  }
}

TEST(DuplicateSummer, BlockRuleDiffersFromAPlainSum) {
  const RowsAt rows(513, 1, 0);
  const std::vector<int32_t> inverse(513, 0);
  float plain = rows.At(0, 0);
  for (int64_t i = 1; i < 513; ++i) plain += rows.At(i, 0);
  DuplicateSummer summer;
  EXPECT_NE(Bits(RunSummer(summer, {inverse, {}, {}, rows.view(), 1})[0]), Bits(plain))
      << "the other tests here could not tell the two rules apart";
}

TEST(DuplicateSummer, MixedTargetsSourcesWeightsAndSkips) {
  constexpr uint64_t kSeed = 11;
  DuplicateSummer summer;
  for (const size_t n : {1, 33, 1000, 6000}) {
    for (const int misalignment : {0, 1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << " n " << n << " off " << misalignment);
      std::mt19937_64 random(kSeed + n);
      const RowsAt rows(50, 20, misalignment);
      std::vector<int32_t> inverse(n);
      std::vector<int32_t> source(n);
      std::vector<float> weights(n);
      for (size_t i = 0; i < n; ++i) {
        // Target 0 gets half of all occurrences, target 9 none.
        inverse[i] = random() % 2 == 0 ? 0 : static_cast<int32_t>(random() % 10) - 1;
        source[i] = static_cast<int32_t>(random() % 50);
        weights[i] = MixedValue(i, 99);
      }
      const SumInput weighted{inverse, source, weights, rows.view(), 10};
      EXPECT_EQ(Bits(RunSummer(summer, weighted)), Bits(SumByContract(weighted)));
      const SumInput plain{inverse, source, {}, rows.view(), 10};
      EXPECT_EQ(Bits(RunSummer(summer, plain)), Bits(SumByContract(plain)));
    }
  }
}

TEST(DuplicateSummer, ASingleOccurrenceKeepsItsBits) {
  RowsAt rows(2, 3, 3);
  rows.Set(0, 0, -0.0F);
  const std::vector<int32_t> inverse{1, 0};
  DuplicateSummer summer;
  EXPECT_EQ(Bits(RunSummer(summer, {inverse, {}, {}, rows.view(), 2}))[3], 0x80000000U);
}

TEST(DuplicateSummer, NoOccurrenceGivesZeros) {
  const RowsAt rows(1, 5, 0);
  DuplicateSummer summer;
  EXPECT_EQ(RunSummer(summer, {{}, {}, {}, rows.view(), 3}), std::vector<float>(15, 0.0F));
  const std::vector<int32_t> skipped{kSkippedPosition};
  EXPECT_EQ(RunSummer(summer, {skipped, {}, {}, rows.view(), 2}), std::vector<float>(10, 0.0F));
}

// Case 13 of the public cases: the sum depends on the order, so the order is part of the contract.
TEST(DuplicateSummer, SumsInRequestOrder) {
  RowsAt rows(4, 1, 0);
  const float gradients[] = {1e8F, 1.0F, -1e8F, 1.0F};
  for (int64_t i = 0; i < 4; ++i) rows.Set(i, 0, gradients[i]);
  const std::vector<int32_t> inverse(4, 0);
  DuplicateSummer summer;
  EXPECT_EQ(RunSummer(summer, {inverse, {}, {}, rows.view(), 1})[0], 1.0F);
}

TEST(DuplicateSummer, ASumDependsOnItsOwnAddendsOnly) {
  const RowsAt rows(4096, 7, 1, 1000);
  const std::vector<int32_t> alone(4096, 0);
  DuplicateSummer summer;
  const std::vector<float> expected = RunSummer(summer, {alone, {}, {}, rows.view(), 1});
  for (int run = 0; run < 10; ++run) {  // among others, elsewhere, again and again
    std::vector<int32_t> inverse;
    std::vector<int32_t> source;
    for (int32_t i = 0; i < 4096; ++i) {
      inverse.insert(inverse.end(), {(i + run) % 5, 5});
      source.insert(source.end(), {(i * 31 + run) % 4096, i});
    }
    const std::vector<float> sums = RunSummer(summer, {inverse, source, {}, rows.view(), 6});
    EXPECT_EQ(Bits({sums.end() - 7, sums.end()}), Bits(expected)) << "run " << run;
  }
}

}  // namespace
}  // namespace hotrow
