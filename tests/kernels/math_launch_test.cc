// The launches of optimizers, initializers, pooling and dedupe on the recording device: the bits of
// the host, on one thread and on several.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "kernels/dedupe/dedupe.h"
#include "kernels/dedupe/dedupe_launch.h"
#include "kernels/initializers/initializer_launch.h"
#include "kernels/optimizers/optimizer_launch.h"
#include "kernels/pooling/pooling_launch.h"
#include "tests/kernels/math_bags.h"
#include "tests/kernels/math_device.h"
#include "tests/kernels/math_helpers.h"
#include "tests/kernels/math_optimizer.h"
#include "tests/kernels/recording_device.h"

namespace hotrow::testing {
namespace {

constexpr uint64_t kSeed = 19;
constexpr int64_t kDims[] = {1, 31, 32, 33, 64, 130, 257};
constexpr int64_t kCounts[] = {0, 1, 31, 32, 33, 1000};

class MathLaunch : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    team_ = *ThreadTeam::Create(GetParam());
    record_.team = team_.get();
    stream_ = *device_.OpenStream();
  }

  std::unique_ptr<ThreadTeam> team_;
  DeviceRecord record_;
  RecordingDevice device_{record_};
  std::unique_ptr<DeviceStream> stream_;
};

TEST_P(MathLaunch, OptimizersChangeRowsAsTheHostDoes) {
  for (const OptimizerOptions& options : {Sgd(), Adagrad(), RowwiseAdagrad(), Adam()}) {
    for (const int64_t dim : kDims) {
      for (const int64_t count : kCounts) {
        OptimizedRows host(options, count, dim, 0.5F);
        OptimizedRows device(options, count, dim, 0.5F);
        const RowsAt gradients(count, dim, 0, kSeed);
        host.Apply(0.01F, gradients.view(), 3);
        const GradientBatch batch{device.layout(), device.records(), gradients.view()};
        ASSERT_TRUE(LaunchApplyGradients(*stream_, options, {0.01F, 3}, batch).ok());
        ASSERT_EQ(Bits(device.Values()), Bits(host.Values()));
        ASSERT_TRUE(device.MetaIsUntouched());
      }
    }
  }
}

TEST_P(MathLaunch, RowsWithoutARecordAreSkipped) {
  OptimizedRows rows(Adam(), 3, 8);
  std::vector<std::byte*> records(rows.records().begin(), rows.records().end());
  records[1] = nullptr;
  const RowsAt gradients(3, 8, 0, kSeed);
  ASSERT_TRUE(
      LaunchApplyGradients(*stream_, Adam(), {0.01F, 1}, {rows.layout(), records, gradients.view()})
          .ok());
  EXPECT_NE(rows.weights(0)[0], 0.0F);
  EXPECT_EQ(rows.weights(1)[0], 0.0F);
  EXPECT_NE(rows.weights(2)[0], 0.0F);
}

TEST_P(MathLaunch, InitialValuesAreTheHosts) {
  using Kind = InitializerKind;
  for (const Initializer& initializer :
       {Initializer{Kind::kZeros}, Initializer{Kind::kConstant, 0.3F},
        Initializer{Kind::kUniform, -1.0F, 2.0F, 5, 6},
        Initializer{Kind::kNormal, 0.1F, 2.0F, 7, 8}}) {
    for (const int64_t dim : kDims) {
      for (const int64_t count : kCounts) {
        std::vector<Key> keys(static_cast<size_t>(count));
        for (size_t i = 0; i < keys.size(); ++i) keys[i] = MixKey(i + kSeed);
        std::vector<float> host(static_cast<size_t>(count * dim), -77.0F);
        std::vector<float> device = host;
        InitializeRows(initializer, keys, {PointersTo(&host, dim), dim});
        ASSERT_TRUE(
            LaunchInitializeRows(*stream_, initializer, keys, {PointersTo(&device, dim), dim})
                .ok());
        ASSERT_EQ(Bits(device), Bits(host));
      }
    }
  }
}

TEST_P(MathLaunch, ForwardPoolingIsTheHosts) {
  for (const PoolingMode mode : {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax}) {
    for (const int64_t dim : kDims) {
      for (const int64_t bag_count : kCounts) {
        const RowsAt rows(50, dim, 0);
        const Bags bags = RandomBags(mode, bag_count, 50, kSeed);
        const Pooled host = RunForward(bags, rows.view());
        Pooled device{std::vector<float>(host.out.size(), -77.0F), host.argmax};
        std::fill(device.argmax.begin(), device.argmax.end(), -77);
        ASSERT_TRUE(
            LaunchPoolForward(*stream_, bags.view(), rows.view(), device.out.data(), device.argmax)
                .ok());
        ASSERT_EQ(Bits(device.out), Bits(host.out));
        ASSERT_EQ(device.argmax, host.argmax);
      }
    }
  }
}

TEST_P(MathLaunch, BackwardPoolingIsTheHosts) {
  constexpr int64_t kRows = 200;
  for (const PoolingMode mode : {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax}) {
    for (const int64_t dim : {1, 33, 128}) {
      for (const int64_t bag_count : {0, 1, 33, 4000}) {
        Bags bags = RandomBags(mode, bag_count, kRows, kSeed);
        for (size_t i = 0; i < bags.positions.size(); i += 4) bags.positions[i] = 150;
        for (size_t i = 0; mode == PoolingMode::kSum && i < bags.positions.size(); ++i) {
          bags.weights.push_back(MixedValue(i, 3));
        }
        const Pooled forward = RunForward(bags, RowsAt(kRows, dim, 0).view());
        std::vector<float> scale(kRows);
        for (size_t r = 0; r < scale.size(); ++r) scale[r] = MixedValue(r, 9);
        PoolGradient gradient{forward.out.data(), dim, forward.argmax, scale, kRows};
        const std::vector<float> host = RunBackward(bags, forward.out, gradient);
        std::vector<float> device(host.size(), -77.0F);
        SumScratch scratch(static_cast<int64_t>(bags.positions.size()), kRows, dim);
        std::vector<int32_t> bag_of(bags.positions.size() + 1);
        std::vector<float> divisors(static_cast<size_t>(bag_count) + 1);
        ASSERT_TRUE(LaunchPoolBackward(*stream_, bags.view(), gradient,
                                       {{bag_of.data(), divisors.data()}, scratch.view()},
                                       device.data())
                        .ok());
        ASSERT_EQ(Bits(device), Bits(host));
      }
    }
  }
}

TEST_P(MathLaunch, GradientsOfWeightsAreTheHosts) {
  for (const int64_t dim : kDims) {
    const RowsAt rows(50, dim, 0);
    const Bags bags = RandomBags(PoolingMode::kSum, 300, 50, kSeed);
    const std::vector<float> out = RunForward(bags, rows.view()).out;
    const PoolGradient gradient{out.data(), dim, {}, {}, 50};
    std::vector<float> host(bags.positions.size(), -77.0F);
    std::vector<float> device = host;
    PoolBackwardWeights(bags.view(), gradient, rows.view(), host.data());
    ASSERT_TRUE(
        LaunchPoolBackwardWeights(*stream_, bags.view(), gradient, rows.view(), device.data())
            .ok());
    ASSERT_EQ(Bits(device), Bits(host));
  }
}

TEST_P(MathLaunch, SumsOverDuplicatesAreTheHosts) {
  std::mt19937_64 random(kSeed);
  for (const int64_t n : {0, 1, 31, 33, 255, 256, 257, 5000}) {
    for (const int64_t dim : {1, 33, 128}) {
      constexpr int64_t kTargets = 40;
      std::vector<int32_t> inverse(static_cast<size_t>(n));
      for (int32_t& target : inverse) {
        target = random() % 4 == 0 ? 7 : static_cast<int32_t>(random() % (kTargets + 1)) - 1;
      }
      const RowsAt rows(n, dim, 0, kSeed);
      std::vector<float> host(static_cast<size_t>(kTargets * dim), -77.0F);
      std::vector<float> device = host;
      DuplicateSummer().Run({inverse, {}, {}, rows.view(), kTargets}, host.data());
      SumScratch scratch(n, kTargets, dim);
      ASSERT_TRUE(LaunchSums(*stream_, {inverse.data(), n, kTargets},
                             {dim, rows.view().rows.data(), nullptr, nullptr}, scratch.view(),
                             device.data())
                      .ok());
      ASSERT_EQ(Bits(device), Bits(host)) << n;
    }
  }
}

TEST_P(MathLaunch, UniqueKeysAreTheHosts) {
  std::mt19937_64 random(kSeed);
  for (const int64_t n : {0, 1, 2, 31, 32, 33, 5000}) {
    for (const bool skips : {false, true}) {
      std::vector<Key> keys(static_cast<size_t>(n));
      for (Key& key : keys) key = MixKey(random() % static_cast<uint64_t>(n / 2 + 1));
      const std::optional<Key> skip = skips ? std::optional<Key>(MixKey(0)) : std::nullopt;
      Deduper host;
      host.Run(keys, skip);
      DedupeMemory device(n);
      ASSERT_TRUE(LaunchDedupe(*stream_, keys.data(), n, skip, device.view()).ok());
      EXPECT_EQ(device.Unique(), std::vector<Key>(host.unique().begin(), host.unique().end()));
      EXPECT_EQ(device.Inverse(),
                std::vector<int32_t>(host.inverse().begin(), host.inverse().end()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, MathLaunch, ::testing::Values(1, 4));

}  // namespace
}  // namespace hotrow::testing
