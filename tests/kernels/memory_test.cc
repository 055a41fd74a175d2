#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/memory_budget.h"
#include "kernels/row_store/reserved_memory.h"
#include "kernels/row_store/set_arrays.h"

namespace hotrow::testing {
namespace {

TEST(MemoryBudget, NeverExceedsItsLimit) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.TryTake(60));
  EXPECT_FALSE(budget.TryTake(41));
  EXPECT_EQ(budget.used_bytes(), 60);
  EXPECT_TRUE(budget.TryTake(40));
  budget.GiveBack(100);
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_FALSE(budget.TryTake(INT64_MAX));
}

TEST(MemoryBudget, TwoThreadsTakeNoMoreThanThereIs) {
  MemoryBudget budget(1000);
  int64_t taken[2] = {0, 0};
  const auto take = [&](int thread) {
    for (int i = 0; i < 2000; ++i) taken[thread] += budget.TryTake(1) ? 1 : 0;
  };
  std::thread other(take, 1);
  take(0);
  other.join();
  EXPECT_EQ(taken[0] + taken[1], 1000);
  EXPECT_EQ(budget.used_bytes(), 1000);
}

TEST(ReservedMemory, IsZeroWhenCommittedAndWhenCommittedAgain) {
  ResultOr<ReservedMemory> reserved = ReservedMemory::Reserve(int64_t{64} << 20);
  ASSERT_TRUE(reserved.ok());
  ReservedMemory memory = *std::move(reserved);
  std::byte* const data = memory.data();
  const int64_t page = ReservedMemory::PageBytes();
  for (const int64_t pages : {1, 3, 1000, 2, 0, 1200}) {
    const int64_t before = memory.committed_bytes();
    ASSERT_TRUE(memory.Commit(pages * page));
    EXPECT_EQ(memory.committed_bytes(), pages * page);
    EXPECT_EQ(memory.data(), data);
    for (int64_t i = before; i < pages * page; i += 97) ASSERT_EQ(data[i], std::byte{0});
    for (int64_t i = 0; i < pages * page; ++i) data[i] = std::byte{0x5a};
  }
}

// Of the mapping that begins at or before `address` and holds it, by the kernel's own account.
int64_t HugeBytesAt(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    long long kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<uintptr_t>(address);
      inside = begin <= at && at < end;
    } else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %lld", &kib) == 1) {
      return kib << 10;
    }
  }
  return 0;
}

// Commits `bytes` in steps and writes all of them as they come.
ReservedMemory Grown(int64_t bytes, int64_t step) {
  ReservedMemory memory = *ReservedMemory::Reserve(bytes);
  for (int64_t at = 0; at < bytes; at += step) {
    EXPECT_TRUE(memory.Commit(at + step));
    for (int64_t i = at; i < at + step; i += 512) memory.data()[i] = std::byte{0x5a};
  }
  return memory;
}

TEST(ReservedMemory, LiesInHugePagesAlsoWhenItGrewInSmallSteps) {
  constexpr int64_t kHuge = int64_t{2} << 20;
  const ReservedMemory at_once = Grown(4 * kHuge, 4 * kHuge);
  constexpr int kCollapse = 25;  // MADV_COLLAPSE, since Linux 6.1
  if (HugeBytesAt(at_once.data()) < 4 * kHuge || madvise(at_once.data(), kHuge, kCollapse) != 0) {
    GTEST_SKIP() << "this system has no huge pages, or does not collapse others into them";
  }
  const ReservedMemory in_steps = Grown(4 * kHuge, kHuge / 16);
  for (int64_t i = 0; i < 4 * kHuge; i += 512) ASSERT_EQ(in_steps.data()[i], std::byte{0x5a});
  // The last block was written only after the step that completed it.
  EXPECT_GE(HugeBytesAt(in_steps.data()), 3 * kHuge);
}

TEST(ReservedMemory, TakesAddressSpaceOnly) {
#if defined(__SANITIZE_THREAD__)
  constexpr int64_t kMuch = int64_t{1} << 36;  // it keeps most of the address space to itself
#else
  constexpr int64_t kMuch = int64_t{1} << 42;  // 4 TiB
#endif
  ResultOr<ReservedMemory> reserved = ReservedMemory::Reserve(kMuch);
  ASSERT_TRUE(reserved.ok());
  EXPECT_TRUE(reserved->Commit(ReservedMemory::PageBytes()));
  EXPECT_EQ(ReservedMemory::Reserve(int64_t{1} << 60).result().code(), Code::kUnavailable);
}

TEST(ReservedMemory, TheUncommittedPartIsOutOfReach) {
  ResultOr<ReservedMemory> memory = ReservedMemory::Reserve(int64_t{8} << 20);
  ASSERT_TRUE(memory.ok());
  const int64_t page = ReservedMemory::PageBytes();
  ASSERT_TRUE(memory->Commit(2 * page));
  ASSERT_TRUE(memory->Commit(page));
  std::byte* const beyond = memory->data() + page;
  EXPECT_DEATH(*static_cast<volatile std::byte*>(beyond) = std::byte{1}, "");
}

TEST(SetArrays, PayForWhatTheyCommitAndGiveItBack) {
  MemoryBudget budget(int64_t{1} << 30);
  {
    ResultOr<SetArrays> arrays = SetArrays::Reserve(32, 528, 1 << 20, budget);
    ASSERT_TRUE(arrays.ok());
    EXPECT_EQ(budget.used_bytes(), 0);
    const int64_t set_bytes = 32 * (1 + 8 + 4 + 528) + 8;
    for (const int64_t sets : {1, 2, 31, 32, 33, 5000}) {
      ASSERT_TRUE(arrays->Grow(sets));
      EXPECT_EQ(arrays->committed_bytes(), budget.used_bytes());
      EXPECT_GE(budget.used_bytes(), sets * set_bytes);
      EXPECT_LE(budget.used_bytes(), sets * set_bytes * 9 / 8 + 5 * (16 << 10));
    }
    arrays->Shrink(100);
    EXPECT_EQ(arrays->committed_bytes(), budget.used_bytes());
    EXPECT_LE(budget.used_bytes(), 100 * set_bytes * 5 / 4 + 5 * (16 << 10));
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(SetArrays, ARefusedGrowthChangesNothing) {
  MemoryBudget budget(int64_t{1} << 20);
  ResultOr<SetArrays> arrays = SetArrays::Reserve(32, 528, 1 << 20, budget);
  ASSERT_TRUE(arrays.ok());
  ASSERT_TRUE(arrays->Grow(20));
  const int64_t used = budget.used_bytes();
  ASSERT_TRUE(budget.TryTake(budget.limit_bytes() - used));
  EXPECT_FALSE(arrays->Grow(arrays->max_sets()));
  EXPECT_EQ(arrays->committed_bytes(), used);
  budget.GiveBack(budget.limit_bytes() - used);
  EXPECT_TRUE(arrays->Grow(40));
}

TEST(SetArrays, TakeLessAddressSpaceWhereThereIsLess) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer keeps most of the address space to itself";
#endif
  MemoryBudget budget(int64_t{4} << 40);
  std::vector<SetArrays> stores;
  // 40 stores of 4 TiB are more than the 128 TiB of a process.
  for (int i = 0; i < 40; ++i) {
    ResultOr<SetArrays> arrays = SetArrays::Reserve(32, 528, int64_t{1} << 40, budget);
    ASSERT_TRUE(arrays.ok()) << i << ": " << arrays.result().message();
    stores.push_back(*std::move(arrays));
    ASSERT_TRUE(stores.back().Grow(1));
  }
  EXPECT_LT(stores.back().max_sets(), stores.front().max_sets());
  EXPECT_GE(stores.back().max_sets(), 1024);
  const ResultOr<ReservedMemory> other = ReservedMemory::Reserve(int64_t{1} << 30);
  EXPECT_TRUE(other.ok()) << "the process has room left for everything else";
}

TEST(SetArrays, UseABudgetToTheLastPages) {
  MemoryBudget budget(int64_t{100} << 20);
  ResultOr<SetArrays> arrays = SetArrays::Reserve(32, 528, 1 << 20, budget);
  ASSERT_TRUE(arrays.ok());
  int64_t sets = 0;
  while (sets < arrays->max_sets() && arrays->Grow(sets + 1)) ++sets;
  const int64_t set_bytes = 32 * (1 + 8 + 4 + 528) + 8;
  EXPECT_GE(sets * set_bytes, budget.limit_bytes() - (int64_t{64} << 10));
}

}  // namespace
}  // namespace hotrow::testing
