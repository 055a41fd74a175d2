// Optimizers, initializers, pooling and sums over duplicates give the same bits on every tile width
// and number of threads.

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/dedupe/dedupe.h"
#include "kernels/initializers/initializer.h"
#include "tests/kernels/math_bags.h"
#include "tests/kernels/math_helpers.h"
#include "tests/kernels/math_optimizer.h"

namespace hotrow {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int64_t kDims[] = {1, 4, 31, 32, 33, 64, 130, 257};
constexpr int64_t kCounts[] = {0, 1, 31, 32, 33, 1000};

// Calls check(space) for spaces of every width and several thread counts.
template <typename Check>
void OnEverySpace(const Check& check) {
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<ThreadTeam> team = *ThreadTeam::Create(threads);
    for (const int width : {1, 8, 32}) {
      SCOPED_TRACE(::testing::Message()
                   << "tile " << width << ", " << threads << " threads, seed " << kSeed);
      check(HostSpace{team.get(), width});
    }
  }
}

TEST(SameBits, Optimizers) {
  for (const OptimizerOptions& options : {Sgd(), Adagrad(), RowwiseAdagrad(), Adam()}) {
    for (const int64_t dim : kDims) {
      for (const int64_t count : kCounts) {
        const auto run = [&](const HostSpace& space) {
          OptimizedRows rows(options, count, dim, 0.25F);
          for (uint64_t step = 1; step <= 3; ++step) {
            const RowsAt gradients(count, dim, 3, step * 100000);
            rows.Apply(space, 0.01F, gradients.view(), step);
          }
          EXPECT_TRUE(rows.MetaIsUntouched());
          return Bits(rows.Values());
        };
        const std::vector<uint32_t> expected = run(HostSpace());
        OnEverySpace([&](const HostSpace& space) { ASSERT_EQ(run(space), expected); });
      }
    }
  }
}

TEST(SameBits, InitialValues) {
  using Kind = InitializerKind;
  for (const Initializer& initializer :
       {Initializer{Kind::kZeros}, Initializer{Kind::kConstant, 0.3F},
        Initializer{Kind::kUniform, -1.0F, 2.0F, 5, 6},
        Initializer{Kind::kNormal, 0.1F, 2.0F, 7, 8}}) {
    for (const int64_t dim : kDims) {
      std::vector<Key> keys(1000);
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = MixKey(i);
      const auto run = [&](const HostSpace& space) {
        std::vector<float> values(keys.size() * static_cast<size_t>(dim), -77.0F);
        std::vector<RowPointer> rows;
        for (size_t i = 0; i < keys.size(); ++i) {
          rows.push_back(AsRow(static_cast<void*>(&values[i * static_cast<size_t>(dim)])));
        }
        InitializeRows(space, initializer, keys, {rows, dim});
        return Bits(values);
      };
      const std::vector<uint32_t> expected = run(HostSpace());
      OnEverySpace([&](const HostSpace& space) { ASSERT_EQ(run(space), expected); });
    }
  }
}

TEST(SameBits, ForwardPooling) {
  for (const PoolingMode mode : {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax}) {
    for (const int64_t dim : kDims) {
      RowsAt rows(50, dim, 1);
      rows.Set(3, 0, NAN);
      Bags bags = RandomBags(mode, 300, 50, kSeed);
      for (const bool weighted : {false, true}) {
        if (weighted && mode != PoolingMode::kSum) continue;
        for (size_t i = 0; weighted && i < bags.positions.size(); ++i) {
          bags.weights.push_back(MixedValue(i, 3));
        }
        const Pooled expected = RunForward(bags, rows.view());
        OnEverySpace([&](const HostSpace& space) {
          const Pooled pooled = RunForward(bags, rows.view(), space);
          ASSERT_EQ(Bits(pooled.out), Bits(expected.out));
          ASSERT_EQ(pooled.argmax, expected.argmax);
        });
      }
    }
  }
}

TEST(SameBits, BackwardPooling) {
  constexpr int64_t kRows = 200;
  for (const PoolingMode mode : {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax}) {
    for (const int64_t dim : {1, 33, 64}) {
      const RowsAt rows(kRows, dim, 0);
      Bags bags = RandomBags(mode, 4000, kRows, kSeed);
      // A row with several blocks of addends.
      for (size_t i = 0; i < bags.positions.size(); i += 4) bags.positions[i] = 150;
      const Pooled forward = RunForward(bags, rows.view());
      std::vector<float> scale(kRows);
      for (size_t r = 0; r < scale.size(); ++r) scale[r] = MixedValue(r, 9);
      const PoolGradient options{nullptr, dim, forward.argmax, scale, kRows};
      const std::vector<float> expected = RunBackward(bags, forward.out, options);
      OnEverySpace([&](const HostSpace& space) {
        ASSERT_EQ(Bits(RunBackward(bags, forward.out, options, space)), Bits(expected));
      });
    }
  }
}

TEST(SameBits, GradientsOfWeights) {
  for (const int64_t dim : kDims) {
    const RowsAt rows(50, dim, 2);
    const Bags bags = RandomBags(PoolingMode::kSum, 500, 50, kSeed);
    const std::vector<float> gradient = RunForward(bags, rows.view()).out;
    const auto run = [&](const HostSpace& space) {
      std::vector<float> weights(bags.positions.size(), -77.0F);
      PoolBackwardWeights(space, bags.view(), {gradient.data(), dim, {}, {}, 50}, rows.view(),
                          weights.data());
      return Bits(weights);
    };
    const std::vector<uint32_t> expected = run(HostSpace());
    OnEverySpace([&](const HostSpace& space) { ASSERT_EQ(run(space), expected); });
  }
}

TEST(SameBits, SumsOverDuplicates) {
  constexpr int64_t kUnique = 300;
  constexpr int64_t kAddends = 5000;
  std::mt19937_64 random(kSeed);
  std::vector<int32_t> inverse(kAddends);
  for (int32_t& target : inverse) {
    target = random() % 4 == 0 ? 77 : static_cast<int32_t>(random() % (kUnique + 1)) - 1;
  }
  for (const int64_t dim : {1, 32, 33}) {
    const RowsAt rows(kAddends, dim, 1);
    const auto run = [&](const HostSpace& space) {
      std::vector<float> sums(kUnique * static_cast<size_t>(dim), -77.0F);
      DuplicateSummer().Run(space, {inverse, {}, {}, rows.view(), kUnique}, sums.data());
      return Bits(sums);
    };
    const std::vector<uint32_t> expected = run(HostSpace());
    OnEverySpace([&](const HostSpace& space) { ASSERT_EQ(run(space), expected); });
  }
}

}  // namespace
}  // namespace hotrow
