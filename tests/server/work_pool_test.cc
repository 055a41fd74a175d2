// What a WorkPool keeps holds nothing of the request that it was used for.

#include "server/shard/work_pool.h"

#include <gtest/gtest.h>

namespace hotrow::test {
namespace {

struct Work {
  void Rest() { bytes.clear(); }
  std::vector<char> bytes;
};

std::shared_ptr<Work> TakeFrom(WorkPool<Work>& pool) {
  return pool.Take([] { return std::make_unique<Work>(); });
}

TEST(WorkPool, KeepsAnObjectThatHasForgottenItsRequest) {
  WorkPool<Work> pool;
  const Work* first = nullptr;
  {
    const auto work = TakeFrom(pool);
    work->bytes.resize(1000);
    first = work.get();
  }
  const auto again = TakeFrom(pool);
  EXPECT_EQ(again.get(), first);
  EXPECT_TRUE(again->bytes.empty());
}

TEST(WorkPool, KeepsNoMoreThanItsBound) {
  constexpr size_t kTaken = WorkPool<Work>::kKept + 5;
  WorkPool<Work> pool;
  int made = 0;
  for (const bool again : {false, true}) {
    std::vector<std::shared_ptr<Work>> works;
    for (size_t i = 0; i < kTaken; ++i) {
      works.push_back(pool.Take([&] { return ++made, std::make_unique<Work>(); }));
    }
    EXPECT_EQ(made, again ? kTaken + 5 : kTaken);
  }
}

}  // namespace
}  // namespace hotrow::test
