// CudaTile on a warp of threads: the collectives of tile.h, and bodies with the result of the
// host's tile.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/kernels/warp_on_host.h"
// After the warp: it is written for nvcc.
#include "kernels/optimizers/rowwise_adagrad.h"
#include "kernels/pooling/pool_bag.h"
#include "kernels/row_store/device_claim.h"
#include "kernels/space/cuda_tile.cuh"
#include "tests/conformance/row_values.h"
#include "tests/kernels/math_bags.h"
#include "tests/kernels/math_optimizer.h"

namespace hotrow::testing {
namespace {

template <typename Width>
class CudaTileTest : public ::testing::Test {
 protected:
  static constexpr int kWidth = Width::value;

  // stage(tile, i) for 0 <= i < n, as a grid of one warp does.
  template <typename Stage>
  static void RunGrid(int64_t n, const Stage& stage) {
    RunWarp(kWidth, [&] {
      const CudaTile<kWidth> tile;
      for (int64_t i = CudaTile<kWidth>::Number(); i < n; i += CudaTile<kWidth>::Count()) {
        stage(tile, i);
      }
    });
  }
};
using Widths = ::testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 8>,
                                std::integral_constant<int, 32>>;
TYPED_TEST_SUITE(CudaTileTest, Widths);

TYPED_TEST(CudaTileTest, CollectivesGiveEveryLaneTheHostsResult) {
  std::mt19937 random(1);
  uint8_t bytes[64];
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 3);
  const HostTile<1> host;
  const HostTile<TestFixture::kWidth> host_lanes;
  RunWarp(TestFixture::kWidth, [&] {
    const CudaTile<TestFixture::kWidth> tile;
    EXPECT_EQ(tile.Ballot([](int lane) { return lane % 3 == 1; }),
              host_lanes.Ballot([](int lane) { return lane % 3 == 1; }));
    for (const int n : {4, 8, 28, 32, 64}) {
      for (const uint8_t value : {0, 1, 2, 200}) {
        EXPECT_EQ(tile.MatchBytes(bytes, n, value), host.MatchBytes(bytes, n, value));
      }
    }
    for (const int64_t n : {0, 1, 31, 32, 33, 1000}) {
      const auto word = [](int64_t i) { return MixKey(static_cast<Key>(i) + 5); };
      EXPECT_EQ(tile.Min(n, word), host.Min(n, word));
      const auto value = [](int64_t i) { return ValueOf(11, i); };
      EXPECT_EQ(Bits(tile.Sum(n, value)), Bits(host.Sum(n, value)));
      const auto count = [](int64_t i) { return i % 2; };
      EXPECT_EQ(tile.Sum(n, count), host.Sum(n, count));
    }
    EXPECT_EQ(tile.Leader(TestFixture::kWidth - 1, [] { return threadIdx.x % 32; }),
              (threadIdx.x / TestFixture::kWidth + 1) * TestFixture::kWidth - 1);
  });
}

TYPED_TEST(CudaTileTest, ForEachVisitsEveryIndexOnce) {
  for (const int64_t n : {0, 1, 31, 32, 33, 1000}) {
    std::vector<int> visits(static_cast<size_t>(n * 40));
    TestFixture::RunGrid(40, [&](const auto& tile, int64_t item) {
      tile.ForEach(n, [&](int64_t i) { ++visits[static_cast<size_t>(item * n + i)]; });
    });
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), n * 40);
  }
}

TYPED_TEST(CudaTileTest, AnOptimizerWithAReductionChangesRowsAsTheHostDoes) {
  for (const int64_t dim : {1, 31, 32, 33, 130}) {
    OptimizedRows host(RowwiseAdagrad(), 20, dim, 0.5F);
    OptimizedRows device(RowwiseAdagrad(), 20, dim, 0.5F);
    const RowsAt gradients(20, dim, 0, 3);
    host.Apply(0.1F, gradients.view());
    TestFixture::RunGrid(
        20, RuleStage<RowwiseAdagradRule>{RowwiseAdagradRule::Of(RowwiseAdagrad(), {0.1F, 1}),
                                          device.layout(), device.records().data(),
                                          gradients.view().rows.data()});
    ASSERT_EQ(Bits(device.Values()), Bits(host.Values()));
  }
}

TYPED_TEST(CudaTileTest, BagsArePooledAsOnTheHost) {
  for (const PoolingMode mode : {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax}) {
    const RowsAt rows(30, 130, 0);
    const Bags bags = RandomBags(mode, 40, 30, 5);
    const Pooled host = RunForward(bags, rows.view());
    Pooled device{std::vector<float>(host.out.size()), host.argmax};
    const BagsView view = bags.view();
    TestFixture::RunGrid(bags.count(), PoolStage{mode, PoolView::Of(view, rows.view()),
                                                 device.out.data(), device.argmax.data()});
    ASSERT_EQ(Bits(device.out), Bits(host.out));
    ASSERT_EQ(device.argmax, host.argmax);
  }
}

// The memory of a small store and of one batch, equal in both copies before they run.
struct ClaimMemory {
  static constexpr int kSlots = 32;
  static constexpr int64_t kSets = 4;
  static constexpr int64_t kKeys = 400;

  ClaimMemory() : digests(kSets * kSlots), keys(digests.size()), scores(digests.size()) {
    records.resize(digests.size() * 2);
    batch_keys = Keys(0, kKeys);
    claim.index.digests = digests.data();
    claim.index.keys = keys.data();
    claim.index.scores = scores.data();
    claim.index.pins = pins;
    claim.index.records = reinterpret_cast<std::byte*>(records.data());
    claim.index.row_bytes = 32;
    claim.index.slots_per_set = kSlots;
    claim.index.SetCount(kSets);
    claim.batch = {batch_keys.data(), slots, states};
    claim.n = kKeys;
    claim.reservations = {words, 63, 1};
    claim.waiting_in = waiting_in;
    claim.totals = &totals;
    claim.evicted = {evicted, evicted_keys, reinterpret_cast<std::byte*>(evicted_records)};
    claim.limits = DisplaceLimits::For(kSets * kSlots, false);
  }

  // Rows of an earlier batch, so that some must move and some must leave.
  void Fill() {
    for (const Key key : Keys(1000, kSets * kSlots * 3 / 4)) {
      const Candidates candidates = claim.index.CandidatesOf(key);
      const HostTile<1> tile;
      const Slot slot = EmptySlot(tile, claim.index, candidates);
      if (slot == kNoSlot) continue;
      Occupy(tile, claim.index, slot, key, candidates.digest);
      scores[static_cast<size_t>(slot)] = static_cast<uint32_t>(key % 5);
      ++claim.rows_before;
    }
  }

  // What the launches of a claim do, on a space that runs run(n, stage).
  template <typename Run>
  void Claim(const Run& run) {
    run(claim.n, StartClaimStage{claim});
    run(claim.n, ReserveStage{claim, kClaimWaiting});
    run(claim.n, ClaimReservedStage{claim});
    run(ClaimChunks(claim.n), CountClaimStage{claim});
    run(claim.n, PinStage{claim});
    run(1, ClaimInOrderStage{claim});
    ++claim.reservations.round;
    run(claim.n, ReserveStage{claim, kClaimFull});
    run(claim.n, EvictReservedStage{claim});
    run(1, EvictInOrderStage{claim});
    run(claim.n, UnpinStage{claim});
    run(claim.n, FinishClaimStage{claim});
  }

  std::vector<uint8_t> digests;
  std::vector<Key> keys;
  std::vector<uint32_t> scores;
  uint64_t pins[kSets] = {};
  std::vector<RecordWord> records;
  std::vector<Key> batch_keys;
  Slot slots[kKeys] = {};
  uint8_t states[kKeys] = {};
  uint64_t words[64] = {};
  uint32_t waiting_in[1] = {};
  ClaimTotals totals;
  uint8_t evicted[kKeys] = {};
  Key evicted_keys[kKeys] = {};
  RecordWord evicted_records[kKeys * 2] = {};
  DeviceClaim claim;
};

TYPED_TEST(CudaTileTest, AClaimTakesTheSlotsOfTheHost) {
  ClaimMemory host;
  ClaimMemory device;
  host.Fill();
  device.Fill();
  host.Claim([](int64_t n, const auto& stage) {
    for (int64_t i = 0; i < n; ++i) stage(HostTile<1>(), i);
  });
  device.Claim([](int64_t n, const auto& stage) { TestFixture::RunGrid(n, stage); });
  EXPECT_EQ(std::vector<Slot>(device.slots, device.slots + ClaimMemory::kKeys),
            std::vector<Slot>(host.slots, host.slots + ClaimMemory::kKeys));
  EXPECT_EQ(std::vector<uint8_t>(device.states, device.states + ClaimMemory::kKeys),
            std::vector<uint8_t>(host.states, host.states + ClaimMemory::kKeys));
  EXPECT_EQ(device.digests, host.digests);
  EXPECT_EQ(device.keys, host.keys);
  EXPECT_EQ(device.totals.evicted, host.totals.evicted);
  EXPECT_GT(host.totals.evicted, 0);
  EXPECT_EQ(std::vector<Key>(device.evicted_keys, device.evicted_keys + ClaimMemory::kKeys),
            std::vector<Key>(host.evicted_keys, host.evicted_keys + ClaimMemory::kKeys));
}

}  // namespace
}  // namespace hotrow::testing
