// HostSpace and its team of threads.

#include "kernels/space/host_space.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/base/atomic.h"

namespace hotrow::testing {
namespace {

TEST(ThreadTeam, RefusesSizesThatItCannotHave) {
  EXPECT_EQ(ThreadTeam::Create(0).result().code(), Code::kInvalidArgument);
  EXPECT_EQ(ThreadTeam::Create(kMaxTeamThreads + 1).result().code(), Code::kInvalidArgument);
  EXPECT_TRUE(ThreadTeam::Create(1).ok());
}

TEST(ThreadTeam, RunsEveryPartOnceAndShowsWhatItWrote) {
  for (const int threads : {1, 2, 3, 8}) {
    const std::unique_ptr<ThreadTeam> team = *ThreadTeam::Create(threads);
    std::vector<int> runs(static_cast<size_t>(threads));
    for (int call = 1; call <= 200; ++call) {
      team->Run([&](int part) { ++runs[static_cast<size_t>(part)]; });
      for (const int count : runs) ASSERT_EQ(count, call);
    }
  }
}

TEST(HostSpace, CoversEveryItemOnceOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<ThreadTeam> team = *ThreadTeam::Create(threads);
    for (const int width : {1, 8, 32}) {
      const HostSpace space{team.get(), width};
      for (const int64_t n : {0, 1, 31, 32, 33, 64, 127, 128, 1000, 4001}) {
        std::vector<int> visits(static_cast<size_t>(n));
        space.ForEach(n, [&](const auto& tile, int64_t i) {
          EXPECT_EQ(std::decay_t<decltype(tile)>::kWidth, width);
          ++visits[static_cast<size_t>(i)];
        });
        struct NoWork {};
        space.Run<3, NoWork>(
            n, [&](const auto&, int64_t i, NoWork&) { visits[static_cast<size_t>(i)] *= 2; },
            [&](const auto&, int64_t i, NoWork&) { visits[static_cast<size_t>(i)] += 1; });
        for (const int count : visits) ASSERT_EQ(count, 3);
      }
    }
  }
}

TEST(HostSpace, UsesNoMoreThreadsThanTheItemsPayFor) {
  const std::unique_ptr<ThreadTeam> team = *ThreadTeam::Create(4);
  const HostSpace space{team.get()};
  EXPECT_EQ(space.Threads(0), 1);
  EXPECT_EQ(space.Threads(2 * kFewestItemsPerThread - 1), 1);
  EXPECT_EQ(space.Threads(2 * kFewestItemsPerThread), 2);
  EXPECT_EQ(space.Threads(1000000), 4);
  EXPECT_EQ(space.Alone().Threads(1000000), 1);
}

TEST(HostSpace, RefusesATileWidthThatItDoesNotHave) {
  EXPECT_DEATH((HostSpace{nullptr, 3}.ForEach(1, [](const auto&, int64_t) {})), "check failed");
}

TEST(Atomic, EveryThreadsPartIsCounted) {
  const std::unique_ptr<ThreadTeam> team = *ThreadTeam::Create(4);
  const HostSpace space{team.get()};
  constexpr int64_t kItems = 10000;
  int64_t sum = 0;
  uint64_t highest = 0;
  uint64_t bits = 0;
  std::vector<uint8_t> bytes(kItems / 10, 7);
  int64_t taken = 0;
  space.ForEach(kItems, [&](const auto&, int64_t i) {
    AtomicAdd(&sum, i);
    AtomicMax(&highest, static_cast<uint64_t>(i * 7919 % kItems));
    AtomicOr(&bits, uint64_t{1} << (i % 50));
    if (AtomicTakeByte(&bytes[static_cast<size_t>(i % (kItems / 10))]) != 0) {
      AtomicAdd(&taken, int64_t{1});
    }
  });
  EXPECT_EQ(sum, kItems * (kItems - 1) / 2);
  EXPECT_EQ(highest, static_cast<uint64_t>(kItems - 1));
  EXPECT_EQ(bits, (uint64_t{1} << 50) - 1);
  EXPECT_EQ(taken, kItems / 10);
  AtomicStore(&sum, int64_t{5});
  EXPECT_EQ(AtomicLoad(&sum), 5);
}

}  // namespace
}  // namespace hotrow::testing
