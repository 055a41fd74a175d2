// The optimizers against the same rules written down a second time, value by value.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/optimizers/decimal.h"
#include "kernels/optimizers/row_optimizer.h"
#include "tests/kernels/math_optimizer.h"

namespace hotrow {
namespace {

constexpr OptimizerKind kKinds[] = {OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                    OptimizerKind::kRowwiseAdagrad, OptimizerKind::kAdam};

OptimizerOptions OptionsOf(OptimizerKind kind) {
  return {kind, 1e-6F, kind == OptimizerKind::kAdam ? 0.0F : 0.125F, 0.8F, 0.99F};
}

// A row with its state, and one update of it.
struct OracleRow {
  std::vector<float> w;
  std::vector<float> h;  // adagrad: accumulators; adam: first moments
  std::vector<float> v;  // adam: second moments
  float row_h = 0.0F;    // row-wise

  void Update(OptimizerKind kind, float lr, uint64_t step, const std::vector<float>& g) {
    switch (kind) {
      case OptimizerKind::kSgd:
        return Sgd(lr, g);
      case OptimizerKind::kAdagrad:
        return Adagrad(lr, g);
      case OptimizerKind::kRowwiseAdagrad:
        return Rowwise(lr, g);
      case OptimizerKind::kAdam:
        return Adam(lr, step, g);
    }
  }

  void Sgd(float lr, const std::vector<float>& g) {
    for (size_t c = 0; c < w.size(); ++c) {
      const float change = lr * g[c];
      w[c] = w[c] - change;
    }
  }

  void Adagrad(float lr, const std::vector<float>& g) {
    for (size_t c = 0; c < w.size(); ++c) {
      const float square = g[c] * g[c];
      h[c] = h[c] + square;
      const float root = std::sqrt(h[c]);
      const float scaled = lr * g[c];
      w[c] = w[c] - scaled / (root + 1e-6F);
    }
  }

  void Rowwise(float lr, const std::vector<float>& g) {
    float partial[32] = {};
    for (size_t c = 0; c < g.size(); ++c) {
      const float square = g[c] * g[c];
      partial[c % 32] = partial[c % 32] + square;
    }
    for (int half = 16; half >= 1; half /= 2) {
      for (int j = 0; j < half; ++j) partial[j] = partial[j] + partial[j + half];
    }
    row_h = row_h + partial[0] / static_cast<float>(g.size());
    const float rate = lr / (std::sqrt(row_h) + 1e-6F);
    for (size_t c = 0; c < w.size(); ++c) {
      const float change = rate * g[c];
      w[c] = w[c] - change;
    }
  }

  void Adam(float lr, uint64_t step, const std::vector<float>& g) {
    const double lr_written = lr == 0.05F ? 0.05 : 0.0;  // the rate of the tests below
    double power1 = 1.0;
    double power2 = 1.0;
    for (uint64_t t = 0; t < step; ++t) {
      power1 *= 0.8;
      power2 *= 0.99;
    }
    const auto size = static_cast<float>(lr_written * std::sqrt(1.0 - power2) / (1.0 - power1));
    const auto rate1 = static_cast<float>(1.0 - 0.8);
    const auto rate2 = static_cast<float>(1.0 - 0.99);
    for (size_t c = 0; c < w.size(); ++c) {
      const float first = rate1 * (g[c] - h[c]);
      h[c] = h[c] + first;
      const float square = g[c] * g[c];
      const float second = rate2 * (square - v[c]);
      v[c] = v[c] + second;
      const float ratio = h[c] / (std::sqrt(v[c]) + 1e-6F);
      const float change = size * ratio;
      w[c] = w[c] - change;
    }
  }

  std::vector<float> State(OptimizerKind kind) const {
    if (kind == OptimizerKind::kSgd) return {};
    if (kind == OptimizerKind::kRowwiseAdagrad) return {row_h};
    std::vector<float> state = h;
    if (kind == OptimizerKind::kAdam) state.insert(state.end(), v.begin(), v.end());
    return state;
  }
};

void ExpectAsOracle(OptimizerKind kind, int64_t rows, int64_t dim, int misalignment) {
  const OptimizerOptions options = OptionsOf(kind);
  OptimizedRows optimized(options, rows, dim);
  const auto width = static_cast<size_t>(dim);
  std::vector<OracleRow> oracle(static_cast<size_t>(rows));
  for (size_t r = 0; r < oracle.size(); ++r) {
    oracle[r] = {std::vector<float>(width), std::vector<float>(width, options.initial_accumulator),
                 std::vector<float>(width), options.initial_accumulator};
    for (size_t c = 0; c < width; ++c) {
      oracle[r].w[c] = optimized.weights(r)[c] = MixedValue(r, static_cast<int64_t>(c));
    }
  }
  for (uint64_t step = 1; step <= 4; ++step) {
    const RowsAt gradients(rows, dim, misalignment, 1000 * step);
    optimized.Apply(0.05F, gradients.view(), step);
    for (size_t r = 0; r < oracle.size(); ++r) {
      std::vector<float> g;
      for (int64_t c = 0; c < dim; ++c) g.push_back(gradients.At(static_cast<int64_t>(r), c));
      oracle[r].Update(kind, 0.05F, step, g);
    }
  }
  for (size_t r = 0; r < oracle.size(); ++r) {
    EXPECT_EQ(Bits({optimized.weights(r), optimized.weights(r) + dim}), Bits(oracle[r].w));
    const int64_t columns = StateColumns(kind, dim);
    EXPECT_EQ(Bits({optimized.state(r), optimized.state(r) + columns}),
              Bits(oracle[r].State(kind)));
  }
  EXPECT_TRUE(optimized.MetaIsUntouched());
}

TEST(ApplyGradients, EqualsTheOracleBitByBitAtEveryDim) {
  for (const OptimizerKind kind : kKinds) {
    for (const int64_t dim : {1, 3, 4, 8, 16, 31, 32, 33, 63, 64, 65, 100, 128, 200}) {
      for (const int misalignment : {0, 1, 3}) {
        SCOPED_TRACE(testing::Message() << OptimizerName(kind) << " dim " << dim);
        ExpectAsOracle(kind, 3, dim, misalignment);
      }
    }
  }
}

TEST(ApplyGradients, EqualsTheOracleAtEveryNumberOfRows) {
  for (const OptimizerKind kind : kKinds) {
    for (const int64_t rows : {0, 1, 31, 32, 33, 500}) ExpectAsOracle(kind, rows, 16, 1);
  }
}

TEST(ApplyGradients, LeavesRowsOutsideTheBatchAlone) {
  OptimizedRows pushed(Adam(), 1, 4, 1.0F);
  OptimizedRows other(Adam(), 1, 4, 1.0F);
  pushed.Apply(0.1F, {1, 1, 1, 1}, 1);
  pushed.Apply(0.1F, {0, 0, 0, 0}, 1000);  // lazy: this row moves on by its moments
  EXPECT_NE(pushed.weights()[0], 0.9F);
  EXPECT_EQ(other.weights()[0], 1.0F);
}

TEST(InitializeState, StartsAccumulatorsAndZeroesMoments) {
  for (const OptimizerKind kind : kKinds) {
    const OptimizerOptions options{kind, 1e-8F, 0.5F};
    std::vector<float> state(66, -77.0F);
    InitializeState(options, 32, state.data());
    const auto columns = static_cast<size_t>(StateColumns(kind, 32));
    const float expected = kind == OptimizerKind::kAdam ? 0.0F : 0.5F;
    for (size_t i = 0; i < state.size(); ++i) {
      EXPECT_EQ(state[i], i < columns ? expected : -77.0F) << OptimizerName(kind) << " " << i;
    }
  }
}

TEST(ValidateOptimizer, RefusesByName) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto message = [](const OptimizerOptions& options) {
    const Result result = ValidateOptimizer(options);
    EXPECT_EQ(result.code(), Code::kInvalidArgument);
    return std::string_view(result.message()).substr(0, 12);
  };
  for (const float bad : {-1.0F, kInfinity, kNan}) {
    EXPECT_EQ(message(Adagrad(bad)), "eps must be ");
    EXPECT_EQ(message(RowwiseAdagrad(bad)), "eps must be ");
    EXPECT_EQ(message({.kind = OptimizerKind::kAdam, .eps = bad}), "eps must be ");
    EXPECT_EQ(message(Adagrad(1e-8F, bad)), "initial_accu");
    EXPECT_EQ(message(RowwiseAdagrad(1e-8F, bad)), "initial_accu");
  }
  for (const float bad : {-0.1F, 1.0F, kInfinity, kNan}) {
    EXPECT_EQ(message({OptimizerKind::kAdam, 1e-8F, 0.0F, bad, 0.9F}), "beta1 must b");
    EXPECT_EQ(message({OptimizerKind::kAdam, 1e-8F, 0.0F, 0.9F, bad}), "beta2 must b");
  }
}

TEST(ValidateOptimizer, RefusesWhatTurnsAZeroGradientIntoNan) {
  EXPECT_FALSE(ValidateOptimizer(Adagrad(0.0F)).ok());
  EXPECT_FALSE(ValidateOptimizer(RowwiseAdagrad(0.0F)).ok());
  EXPECT_FALSE(ValidateOptimizer({.kind = OptimizerKind::kAdam, .eps = 0.0F}).ok());
  EXPECT_TRUE(ValidateOptimizer(Adagrad(0.0F, 0.1F)).ok());
  EXPECT_TRUE(ValidateOptimizer(Sgd()).ok());
  for (const OptimizerOptions& options : {Adagrad(), RowwiseAdagrad(), Adam()}) {
    EXPECT_TRUE(ValidateOptimizer(options).ok());
    OptimizedRows rows(options, 1, 3, 1.0F);
    rows.Apply(0.1F, {0.0F, -0.0F, 1e-30F});
    for (int c = 0; c < 3; ++c) EXPECT_TRUE(std::isfinite(rows.weights()[c]));
  }
}

TEST(OptimizerName, IsTheNameOfTheRule) {
  EXPECT_EQ(OptimizerName(OptimizerKind::kSgd), "sgd");
  EXPECT_EQ(OptimizerName(OptimizerKind::kAdagrad), "adagrad");
  EXPECT_EQ(OptimizerName(OptimizerKind::kRowwiseAdagrad), "rowwise_adagrad");
  EXPECT_EQ(OptimizerName(OptimizerKind::kAdam), "adam");
}

TEST(WrittenDecimal, IsWhatTheUserWrote) {
  EXPECT_EQ(WrittenDecimal(0.999F), 0.999);
  EXPECT_EQ(WrittenDecimal(0.9F), 0.9);
  EXPECT_EQ(WrittenDecimal(1e-8F), 1e-8);
  EXPECT_EQ(WrittenDecimal(0.0F), 0.0);
  EXPECT_EQ(WrittenDecimal(0.5F), 0.5);
  EXPECT_EQ(WrittenDecimal(-123456.0F), -123456.0);
  EXPECT_EQ(static_cast<float>(WrittenDecimal(0.333333343F)), 0.333333343F);
}

}  // namespace
}  // namespace hotrow
