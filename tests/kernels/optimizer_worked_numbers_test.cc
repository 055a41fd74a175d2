// The numbers that were worked out by hand, with numpy and with torch 2.15.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/dedupe/dedupe.h"
#include "tests/kernels/math_optimizer.h"

namespace hotrow {
namespace {

// How far the weight 1 of a fresh row moves under one gradient of 1e-6.
float MoveOf(const OptimizerOptions& options) {
  OptimizedRows row(options, 1, 1, 1.0F);
  row.Apply(0.1F, {1e-6F});
  return 1.0F - row.weights()[0];
}

// Case 21: the key is summed over its duplicates before the accumulator sees it.
TEST(WorkedNumbers, AdagradOfAKeyPushedTwice) {
  Deduper deduper;
  deduper.Run(std::vector<Key>{5, 5});
  RowsAt gradients(2, 1, 0);
  gradients.Set(0, 0, 1.0F);
  gradients.Set(1, 0, 3.0F);
  std::vector<float> sum(deduper.unique().size());
  DuplicateSummer summer;
  summer.Run({deduper.inverse(), {}, {}, gradients.view(), 1}, sum.data());
  OptimizedRows row(Adagrad(), 1, 1, 1.0F);
  row.Apply(0.1F, sum);
  EXPECT_FLOAT_EQ(row.weights()[0], 0.9F);
  EXPECT_EQ(row.state()[0], 16.0F);
}

// Case 25: the place and the size of eps, and the start of the accumulator.
TEST(WorkedNumbers, AdagradEpsAndInitialAccumulator) {
  EXPECT_NEAR(MoveOf(Adagrad(1e-10F)), 0.0999900F, 1e-7F);
  EXPECT_NEAR(MoveOf(Adagrad(1e-8F)), 0.0990099F, 1e-7F);
  EXPECT_NEAR(MoveOf(Adagrad(1e-10F, 0.1F)), 3.16e-7F, 1e-7F);  // one float32 step of 1 is 6e-8
  OptimizedRows row(Adagrad(1e-10F, 0.1F), 1, 1, 0.0F);
  row.Apply(0.1F, {1e-6F});
  EXPECT_NEAR(row.weights()[0], -3.16e-7F, 1e-9F);
}

TEST(WorkedNumbers, RowwiseAdagrad) {
  OptimizedRows row(RowwiseAdagrad(), 1, 4, 1.0F);
  const float first[] = {0.963485F, 0.926970F, 0.890455F, 0.853941F};
  const float second[] = {0.937665F, 0.875331F, 0.812996F, 0.750661F};
  row.Apply(0.1F, {1, 2, 3, 4});
  EXPECT_EQ(row.state()[0], 7.5F);
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(row.weights()[c], first[c], 6e-7F);
  row.Apply(0.1F, {1, 2, 3, 4});
  EXPECT_EQ(row.state()[0], 15.0F);
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(row.weights()[c], second[c], 6e-7F);
}

// Case 33. Bits of torch.optim.SparseAdam after each step.
TEST(WorkedNumbers, AdamSeriesEqualsTorchBitByBit) {
  const float gradients[] = {1, 2, 3, -4, 5, 0.5F};
  const uint32_t torch_bits[] = {0xbdccccc7U, 0xbe493c0dU, 0xbe95aabdU,
                                 0xbe9b5e07U, 0xbeb1c33eU, 0xbec6d21aU};
  OptimizedRows row(Adam(), 1, 1, 0.0F);
  for (uint64_t t = 0; t < 6; ++t) {
    row.Apply(0.1F, {gradients[t]}, t + 1);
    EXPECT_EQ(Bits(row.weights()[0]), torch_bits[t]) << "step " << t + 1;
  }
  EXPECT_NEAR(row.weights()[0], -0.388322F, 1e-6F);
}

TEST(WorkedNumbers, AdamNeedsBothItsMomentsAndItsStep) {
  const float gradients[] = {1, 2, 3, -4, 5, 0.5F};
  const auto run = [&gradients](bool keeps_moments, bool keeps_step) {
    OptimizedRows row(Adam(), 1, 1, 0.0F);
    for (uint64_t t = 0; t < 6; ++t) {
      if (t == 3 && !keeps_moments) row.state()[0] = row.state()[1] = 0.0F;
      row.Apply(0.1F, {gradients[t]}, t >= 3 && !keeps_step ? t - 2 : t + 1);
    }
    return row.weights()[0];
  };
  EXPECT_NEAR(run(true, true), -0.388322F, 1e-6F);
  EXPECT_NEAR(run(true, false), -0.421468F, 1e-6F);
  EXPECT_NEAR(run(false, true), -0.260452F, 1e-6F);
  EXPECT_NEAR(run(false, false), -0.226109F, 1e-6F);
}

float SeriesGradient(uint64_t t, int c) {
  return static_cast<float>(static_cast<int>((t * 7 + static_cast<uint64_t>(c) * 3) % 11) - 5) / 8;
}

// Forty steps of eight columns, w = (c - 4) / 8 before them.
OptimizedRows AfterFortySteps(const OptimizerOptions& options, float learning_rate) {
  OptimizedRows row(options, 1, 8);
  for (int c = 0; c < 8; ++c) row.weights()[c] = static_cast<float>(c - 4) / 8;
  for (uint64_t t = 1; t <= 40; ++t) {
    std::vector<float> gradient;
    for (int c = 0; c < 8; ++c) gradient.push_back(SeriesGradient(t, c));
    row.Apply(learning_rate, gradient, t);
  }
  return row;
}

TEST(WorkedNumbers, FortyAdamStepsEqualTorchSparseAdamBitByBit) {
  const struct {
    float learning_rate;
    std::vector<uint32_t> torch_bits;
  } runs[] = {{1e-3F,
               {0xbf00ed7bU, 0xbec1e581U, 0xbe7e3611U, 0xbdfabf88U, 0xbaa9ce5bU, 0x3e019de7U,
                0x3e7f2286U, 0x3ebfc9b2U}},
              {0.1F,
               {0xbf5cc3eaU, 0xbf3ed331U, 0xbd9a3e68U, 0x3e0697dcU, 0xbe04a937U, 0x3e90d6beU,
                0x3e297b33U, 0x3eaac8a2U}},
              {0.0123F,
               {0xbf0b68ffU, 0xbed753b1U, 0xbe69ff81U, 0xbdbf66f0U, 0xbc8289d6U, 0x3e13e2eaU,
                0x3e755bafU, 0x3ebd63f1U}}};
  for (const auto& run : runs) {
    OptimizedRows row = AfterFortySteps(Adam(), run.learning_rate);
    EXPECT_EQ(Bits({row.weights(), row.weights() + 8}), run.torch_bits) << run.learning_rate;
  }
}

TEST(WorkedNumbers, FortyAdagradStepsEqualTorchAdagradBitByBit) {
  OptimizedRows row = AfterFortySteps(Adagrad(), 0.01F);
  EXPECT_EQ(Bits({row.weights(), row.weights() + 8}),
            (std::vector<uint32_t>{0xbf02fa3fU, 0xbec4d07cU, 0xbe768b29U, 0xbdea75f9U, 0xbb8f56a8U,
                                   0x3e0318c3U, 0x3e8168b1U, 0x3ebe1f23U}));
}

// Case 27, at the level of the rule: the rate of each push counts.
TEST(WorkedNumbers, SgdFollowsTheRateOfThePush) {
  OptimizedRows row(Sgd(), 1, 1, 1.0F);
  for (int step = 0; step < 4; ++step) row.Apply(step < 2 ? 0.1F : 0.01F, {1.0F});
  EXPECT_FLOAT_EQ(row.weights()[0], 0.78F);
}

// Case 29, one client's view: 8,000 gradients of 1 in float32.
TEST(WorkedNumbers, EightThousandPushesOfOne) {
  OptimizedRows sgd(Sgd(), 1, 1, 0.0F);
  OptimizedRows adagrad(Adagrad(), 1, 1, 0.0F);
  for (int push = 0; push < 8000; ++push) {
    sgd.Apply(0.001F, {1.0F});
    adagrad.Apply(0.001F, {1.0F});
  }
  EXPECT_NEAR(sgd.weights()[0], -7.999603F, 5e-7F);
  EXPECT_EQ(adagrad.state()[0], 8000.0F);
}

// Case 26: what the bound on gradients (1e15) keeps out is what would overflow the accumulators.
TEST(WorkedNumbers, TheLargestLegalGradientKeepsEveryStateFinite) {
  for (const OptimizerOptions& options : {Sgd(), Adagrad(), RowwiseAdagrad(), Adam()}) {
    OptimizedRows row(options, 1, 64, 1.0F);
    const std::vector<float> gradient(64, -1e15F);
    for (uint64_t step = 1; step <= 100; ++step) row.Apply(0.1F, gradient, step);
    for (int c = 0; c < 64; ++c) EXPECT_TRUE(std::isfinite(row.weights()[c]));
    for (int64_t c = 0; c < row.layout().state_columns; ++c) {
      EXPECT_TRUE(std::isfinite(row.state()[c]));
    }
  }
}

}  // namespace
}  // namespace hotrow
