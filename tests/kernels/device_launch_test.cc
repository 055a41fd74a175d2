// What launch code asks of a stream: sizes, order, arguments that it refuses, and errors that it
// hands on.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/dedupe/dedupe_launch.h"
#include "kernels/initializers/initializer_launch.h"
#include "kernels/optimizers/optimizer_launch.h"
#include "kernels/pooling/pooling_launch.h"
#include "kernels/row_store/row_store_launch.h"
#include "kernels/row_store/store_stages.h"
#include "kernels/space/cuda_space.cuh"
#include "kernels/space/device_buffer.h"
#include "tests/kernels/math_device.h"
#include "tests/kernels/math_optimizer.h"
#include "tests/kernels/recording_device.h"

namespace hotrow::testing {
namespace {

using Names = std::vector<std::string>;

class DeviceLaunchTest : public ::testing::Test {
 protected:
  DeviceLaunchTest() : stream_(*device_.OpenStream()) {
    index_.digests = digests_;
    index_.keys = keys_;
    index_.scores = scores_;
    index_.pins = &pins_;
    index_.records = records_;
    index_.row_bytes = 32;
    index_.slots_per_set = 4;
    index_.SetCount(1);
    claim_.index = index_;
    claim_.batch = {batch_keys_, slots_, states_};
    claim_.n = 2;
    claim_.reservations = {words_, 3, 0};
    claim_.waiting_in = waiting_in_;
    claim_.totals = &totals_;
    claim_.evicted = {evicted_, evicted_keys_, evicted_records_};
  }

  DeviceKeys Batch(int64_t n) { return {batch_keys_, slots_, n}; }

  // Nothing was asked of the device.
  void ExpectRefused(const Result& result) {
    EXPECT_EQ(result.code(), Code::kInvalidArgument);
    EXPECT_STRNE(result.message(), "");
    EXPECT_TRUE(record_.calls.empty());
  }

  DeviceRecord record_;
  RecordingDevice device_{record_};
  std::unique_ptr<DeviceStream> stream_;
  uint8_t digests_[4] = {};
  Key keys_[4] = {};
  uint32_t scores_[4] = {};
  uint64_t pins_ = 0;
  alignas(16) std::byte records_[4 * 32] = {};
  Key batch_keys_[2] = {5, 6};
  Slot slots_[2] = {};
  uint8_t states_[2] = {};
  uint64_t words_[4] = {};
  uint32_t waiting_in_[1] = {};
  ClaimTotals totals_;
  uint8_t evicted_[2] = {};
  Key evicted_keys_[2] = {};
  alignas(16) std::byte evicted_records_[2 * 32] = {};
  SlotIndexView index_;
  DeviceClaim claim_;
};

struct CountStage {
  static constexpr const char* kName = "count";
  int64_t* counts;

  template <typename Tile>
  void operator()(const Tile& /*tile*/, int64_t i) const {
    ++counts[i];
  }
};

struct NothingStage {
  static constexpr const char* kName = "nothing";

  template <typename Tile>
  void operator()(const Tile& /*tile*/, int64_t /*i*/) const {}
};

TEST_F(DeviceLaunchTest, AGridCoversEveryItemAndNoLaunchIsEmpty) {
  const CudaSpace space(*stream_);
  for (const int64_t n : {0, 1, 7, 8, 9, 255, 256, 257, 100000}) {
    std::vector<int64_t> counts(static_cast<size_t>(n));
    record_.calls.clear();
    ASSERT_TRUE(space.Run<32>(n, CountStage{counts.data()}).ok());
    for (const int64_t count : counts) ASSERT_EQ(count, 1);
    ASSERT_EQ(record_.calls.size(), n == 0 ? 0U : 1U);
    if (n > 0) {
      EXPECT_EQ(record_.calls[0], (DeviceCall{0, "count", (n + 7) / 8}));
    }
  }
  int64_t counts[1] = {};
  ASSERT_TRUE(space.Run<1>(1, CountStage{counts}).ok());
  EXPECT_EQ(counts[0], 1);
}

TEST_F(DeviceLaunchTest, AGridIsBounded) {
  ASSERT_TRUE(CudaSpace(*stream_).Run<32>(int64_t{1} << 20, NothingStage{}).ok());
  EXPECT_EQ(record_.calls[0].size, kMaxBlocks);
}

TEST_F(DeviceLaunchTest, ANegativeNumberOfItemsIsRefused) {
  ExpectRefused(CudaSpace(*stream_).Run<1>(-1, CountStage{nullptr}));
}

TEST_F(DeviceLaunchTest, EmptyBatchesLaunchNothing) {
  claim_.n = 0;
  int64_t removed = 7;
  EXPECT_TRUE(LaunchFind(*stream_, index_, {nullptr, nullptr, 0}).ok());
  EXPECT_TRUE(LaunchFindAndCopy(*stream_, index_, {nullptr, nullptr, 0}, nullptr, 1).ok());
  EXPECT_TRUE(LaunchCopyWeights(*stream_, index_, {nullptr, nullptr, 0}, nullptr, 1).ok());
  EXPECT_TRUE(LaunchRecordAddresses(*stream_, index_, {nullptr, nullptr, 0}, nullptr).ok());
  EXPECT_TRUE(LaunchSetScores(*stream_, index_, {nullptr, nullptr, 0}, 1).ok());
  EXPECT_TRUE(LaunchFindOrClaim(*stream_, FullPolicy::kEvictLowestScore, &claim_).ok());
  EXPECT_TRUE(LaunchGrow(*stream_, 1, &index_).ok());
  const OptimizedRows rows(Sgd(), 0, 4);
  EXPECT_TRUE(LaunchApplyGradients(*stream_, Sgd(), {0.1F, 1}, {rows.layout(), {}, {{}, 4}}).ok());
  EXPECT_TRUE(LaunchInitializeRows(*stream_, {}, {}, {{}, 4}).ok());
  const int64_t offsets[] = {0};
  EXPECT_TRUE(
      LaunchPoolForward(*stream_, {PoolingMode::kSum, offsets, {}, {}}, {{}, 4}, nullptr, {}).ok());
  EXPECT_TRUE(record_.calls.empty());
  EXPECT_TRUE(LaunchErase(*stream_, index_, {nullptr, nullptr, 0}, &removed).ok());
  EXPECT_EQ(record_.Names(), Names{"zero"});
  EXPECT_EQ(removed, 0);
}

TEST_F(DeviceLaunchTest, AClaimLaunchesItsPassesInOrder) {
  ASSERT_TRUE(LaunchFindOrClaim(*stream_, FullPolicy::kEvictLowestScore, &claim_).ok());
  Names expected = {"zero", "start_claim"};
  for (int round = 0; round < kClaimRounds; ++round) {
    expected.insert(expected.end(), {"reserve", "claim_reserved"});
  }
  expected.insert(expected.end(), {"zero", "count_claim", "pin", "claim_in_order"});
  for (int round = 0; round < kClaimRounds; ++round) {
    expected.insert(expected.end(), {"reserve", "evict_reserved"});
  }
  expected.insert(expected.end(),
                  {"evict_in_order", "unpin", "zero", "count_claim", "finish_claim"});
  EXPECT_EQ(record_.Names(), expected);
  EXPECT_EQ(claim_.reservations.round, kRoundsPerClaim);
  EXPECT_EQ(totals_.created, 2);
}

TEST_F(DeviceLaunchTest, EveryCallGoesToTheStreamThatWasGiven) {
  const std::unique_ptr<DeviceStream> second = *device_.OpenStream();
  ASSERT_TRUE(LaunchFind(*stream_, index_, Batch(2)).ok());
  ASSERT_TRUE(second->WaitFor(*stream_).ok());
  int64_t removed = 0;
  ASSERT_TRUE(LaunchErase(*second, index_, Batch(2), &removed).ok());
  const std::vector<DeviceCall> expected = {
      {0, "find", 1}, {1, "wait", 0}, {1, "zero", 8}, {1, "find", 1}, {1, "vacate", 1}};
  EXPECT_EQ(record_.calls, expected);
}

// The first refusal is the result, and nothing is launched after it.
TEST_F(DeviceLaunchTest, ErrorsOfTheStreamAreHandedOn) {
  ASSERT_TRUE(LaunchFindOrClaim(*stream_, FullPolicy::kEvictLowestScore, &claim_).ok());
  const auto calls = static_cast<int64_t>(record_.calls.size());
  for (record_.fail_at = 0; record_.fail_at < calls; ++record_.fail_at) {
    record_.calls.clear();
    const Result result = LaunchFindOrClaim(*stream_, FullPolicy::kEvictLowestScore, &claim_);
    EXPECT_EQ(result.code(), Code::kInternal);
    EXPECT_EQ(static_cast<int64_t>(record_.calls.size()), record_.fail_at + 1);
  }
  const std::vector<Key> keys = {1, 2, 1};
  for (record_.fail_at = 0; record_.fail_at < 7; ++record_.fail_at) {
    record_.calls.clear();
    DedupeMemory memory(3);
    EXPECT_EQ(LaunchDedupe(*stream_, keys.data(), 3, std::nullopt, memory.view()).code(),
              Code::kInternal);
    EXPECT_EQ(static_cast<int64_t>(record_.calls.size()), record_.fail_at + 1);
  }
}

TEST_F(DeviceLaunchTest, RefusesStoreArgumentsThatCannotBe) {
  ExpectRefused(LaunchFind(*stream_, index_, Batch(-1)));
  ExpectRefused(LaunchFind(*stream_, index_, Batch(kMaxDeviceBatch + 1)));
  ExpectRefused(LaunchFind(*stream_, index_, {nullptr, slots_, 2}));
  ExpectRefused(LaunchFind(*stream_, index_, {batch_keys_, nullptr, 2}));
  ExpectRefused(LaunchFind(*stream_, SlotIndexView(), Batch(2)));
  ExpectRefused(LaunchCopyWeights(*stream_, index_, Batch(2), nullptr, 4));
  const RowPointer rows[2] = {};
  ExpectRefused(LaunchCopyWeights(*stream_, index_, Batch(2), rows, 0));
  ExpectRefused(LaunchFindAndCopy(*stream_, index_, Batch(2), rows, 9));  // a record has 8 floats
  ExpectRefused(LaunchRecordAddresses(*stream_, index_, Batch(2), nullptr));
  ExpectRefused(LaunchErase(*stream_, index_, Batch(2), nullptr));
  ExpectRefused(LaunchGrow(*stream_, 0, &index_));
}

TEST_F(DeviceLaunchTest, RefusesClaimsThatCannotBe) {
  const auto refused = [&](auto change, FullPolicy policy = FullPolicy::kEvictLowestScore) {
    DeviceClaim claim = claim_;
    change(&claim);
    ExpectRefused(LaunchFindOrClaim(*stream_, policy, &claim));
  };
  refused([](DeviceClaim* c) { c->n = -1; });
  refused([](DeviceClaim* c) { c->batch.keys = nullptr; });
  refused([](DeviceClaim* c) { c->batch.states = nullptr; });
  refused([](DeviceClaim* c) { c->waiting_in = nullptr; });
  refused([](DeviceClaim* c) { c->totals = nullptr; });
  refused([](DeviceClaim* c) { c->reservations.words = nullptr; });
  refused([](DeviceClaim* c) { c->reservations.mask = 2; });
  refused([](DeviceClaim* c) { c->reservations.round = UINT32_MAX - kRoundsPerClaim + 1; });
  refused([](DeviceClaim* c) { c->evicted.records = nullptr; });
  claim_.evicted = {};
  EXPECT_TRUE(LaunchFindOrClaim(*stream_, FullPolicy::kRefuse, &claim_).ok());
}

TEST_F(DeviceLaunchTest, RefusesMathArgumentsThatCannotBe) {
  const OptimizedRows rows(Adam(), 2, 4);
  const RowsAt gradients(2, 4, 0);
  const GradientBatch batch{rows.layout(), rows.records(), gradients.view()};
  ExpectRefused(LaunchApplyGradients(*stream_, Sgd(), {0.1F, 1}, batch));  // Adam's state
  ExpectRefused(LaunchApplyGradients(*stream_, Adam(), {0.1F, 0}, batch));
  ExpectRefused(LaunchApplyGradients(*stream_, Adam(), {0.1F, 1},
                                     {rows.layout(), rows.records(), RowsAt(1, 4, 0).view()}));
  ExpectRefused(LaunchApplyGradients(*stream_, Adam(), {0.1F, 1},
                                     {rows.layout(), rows.records(), RowsAt(2, 5, 0).view()}));
  const Initializer bad{InitializerKind::kUniform, 2.0F, 1.0F};
  ExpectRefused(LaunchInitializeRows(*stream_, bad, {}, {{}, 4}));
  ExpectRefused(LaunchInitializeRows(*stream_, {}, batch_keys_, {{}, 4}));
  const int64_t offsets[] = {0, 2};
  const int32_t positions[] = {0, 1};
  const float weights[] = {1.0F};
  float out[4];
  BagsView bags{PoolingMode::kMax, offsets, positions, {}};
  ExpectRefused(LaunchPoolForward(*stream_, bags, gradients.view(), out, {}));
  bags = {PoolingMode::kSum, offsets, positions, weights};
  ExpectRefused(LaunchPoolForward(*stream_, bags, gradients.view(), out, {}));
  bags = {PoolingMode::kSum, {}, positions, {}};
  ExpectRefused(LaunchPoolForward(*stream_, bags, gradients.view(), out, {}));
  bags = {PoolingMode::kMean, offsets, positions, {}};
  ExpectRefused(LaunchPoolBackwardWeights(*stream_, bags, {out, 4}, gradients.view(), out));
  ExpectRefused(LaunchPoolBackward(*stream_, bags, {out, 4, {}, {}, 2}, {}, out));
  ExpectRefused(LaunchSums(*stream_, {positions, 2, 2}, {4, nullptr, nullptr, nullptr}, {}, out));
  ExpectRefused(LaunchSums(*stream_, {positions, -1, 2}, {4, nullptr, nullptr, nullptr}, {}, out));
  ExpectRefused(LaunchDedupe(*stream_, batch_keys_, 2, std::nullopt, {}));
  DedupeMemory memory(2);
  DeviceDedupe dedupe = memory.view();
  ExpectRefused(LaunchDedupe(*stream_, batch_keys_, -1, std::nullopt, dedupe));
  dedupe.marks.first_of = nullptr;
  ExpectRefused(LaunchDedupe(*stream_, batch_keys_, 2, std::nullopt, dedupe));
}

TEST_F(DeviceLaunchTest, ATooSmallSortWorkspaceIsAnError) {
  DedupeMemory memory(2);
  DeviceDedupe dedupe = memory.view();
  dedupe.sort.bytes = 1;
  EXPECT_EQ(LaunchDedupe(*stream_, batch_keys_, 2, std::nullopt, dedupe).code(),
            Code::kInvalidArgument);
}

TEST(DeviceBuffer, OwnsItsMemoryAndSaysWhenThereIsNone) {
  DeviceRecord record;
  RecordingDevice device(record);
  {
    ResultOr<DeviceBuffer<float>> buffer = DeviceBuffer<float>::CreateSync(device, 100);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->bytes(), 400);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 256, 0U);
    DeviceBuffer<float> moved = *std::move(buffer);
    EXPECT_EQ(record.allocations, 1);
    moved = DeviceBuffer<float>();
  }
  EXPECT_EQ(record.allocations, 0);
  ResultOr<DeviceBuffer<float>> empty = DeviceBuffer<float>::CreateSync(device, 0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->data(), nullptr);
  EXPECT_EQ(DeviceBuffer<float>::CreateSync(device, -1).result().code(), Code::kInvalidArgument);
  EXPECT_EQ(DeviceBuffer<float>::CreateSync(device, INT64_MAX).result().code(),
            Code::kInvalidArgument);
  record.allocation_limit = 10;
  EXPECT_EQ(DeviceBuffer<float>::CreateSync(device, 3).result().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace hotrow::testing
