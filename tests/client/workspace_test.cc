#include <gtest/gtest.h>

#include "client/src/batch_workspace.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

using client::BatchWorkspace;
using client::WorkspacePool;

std::unique_ptr<BatchWorkspace> Used(WorkspacePool& pool, size_t keys) {
  std::unique_ptr<BatchWorkspace> workspace = pool.Take();
  workspace->deduper.Run(RandomKeys(keys, 0, 3));
  workspace->rows.assign(keys, nullptr);
  return workspace;
}

TEST(BatchWorkspace, CountsAllThatItHolds) {
  BatchWorkspace workspace;
  int64_t before = workspace.bytes();
  const auto grows_by = [&](int64_t bytes) {
    const int64_t grown = workspace.bytes() - before;
    before = workspace.bytes();
    return grown >= bytes;
  };
  constexpr int64_t kKeys = 1000;
  const std::vector<Key> keys = RandomKeys(kKeys, 0, 3);
  workspace.deduper.Run(keys);
  EXPECT_TRUE(grows_by(kKeys * (8 + 4 + 2 * 4)));
  const std::vector<float> row(64, 1.0F);
  workspace.rows.assign(kKeys, AsRow(static_cast<const void*>(row.data())));
  EXPECT_TRUE(grows_by(kKeys * 8));
  const std::vector<int32_t> one_target(kKeys, 0);
  std::vector<float> sums(64);
  workspace.summer.Run({.inverse = one_target, .rows = {workspace.rows, 64}, .unique_count = 1},
                       sums.data());
  EXPECT_TRUE(grows_by(64 * 4)) << "a block of a target with many addends";
  for (std::vector<int32_t>* part : {&workspace.groups.order, &workspace.groups.starts,
                                     &workspace.target_of_key, &workspace.targets}) {
    part->resize(kKeys);
    EXPECT_TRUE(grows_by(kKeys * 4));
  }
  workspace.group_of_key.resize(kKeys);
  EXPECT_TRUE(grows_by(kKeys * 2));
}

TEST(WorkspacePool, KeepsWhatASteadyStateNeeds) {
  WorkspacePool pool;
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<BatchWorkspace> workspace = Used(pool, 10'000);
    const BatchWorkspace* const place = workspace.get();
    pool.Give(std::move(workspace));
    EXPECT_GT(pool.idle_bytes(), 0);
    workspace = pool.Take();
    EXPECT_EQ(workspace.get(), place);
    EXPECT_EQ(pool.idle_bytes(), 0);
    pool.Give(std::move(workspace));
  }
}

TEST(WorkspacePool, GivesTheMemoryOfALargeBatchBack) {
  WorkspacePool pool;
  std::unique_ptr<BatchWorkspace> workspace = Used(pool, 3'000'000);
  EXPECT_GT(workspace->bytes(), WorkspacePool::kKeptBytes);
  pool.Give(std::move(workspace));
  EXPECT_EQ(pool.idle_bytes(), 0);
}

TEST(WorkspacePool, BoundsTheBytesOfAllTogether) {
  WorkspacePool pool;
  std::vector<std::unique_ptr<BatchWorkspace>> busy;
  for (int i = 0; i < 12; ++i) busy.push_back(Used(pool, 400'000));
  const int64_t each = busy[0]->bytes();
  ASSERT_GT(each * 12, WorkspacePool::kKeptBytes);
  for (auto& workspace : busy) pool.Give(std::move(workspace));
  EXPECT_LE(pool.idle_bytes(), WorkspacePool::kKeptBytes);
  EXPECT_GT(pool.idle_bytes(), WorkspacePool::kKeptBytes - each);
}

}  // namespace
}  // namespace hotrow::testing
