// What happens when room ends: known keys are served, new ones are refused and named.

#include <gtest/gtest.h>

#include <set>

#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

constexpr uint32_t kDim = 16;
// Each strand keeps about 100 KiB of every table, also of an empty one.
const int64_t kBudget = (int64_t{1} << 20) * DefaultStrands();

// A shard whose budget is used up by rows of table "t".
class FullShard : public testing::Test {
 protected:
  FullShard() {
    for (uint64_t salt = 0; refused_.empty(); ++salt) {
      const auto keys = MixedKeys(500, salt);
      TablePart part = one_.Part(keys, MixedRows(keys, kDim));
      for (const auto& [partition, share] : ByPartition(part, one_.map(), salt_)) {
        const auto sub_push =
            Freeze(partition, ++next_[partition], wire::Operation::kPush, {share});
        Note(sub_push, share, one_.Send(sub_push));
      }
      if (salt > 1000) ADD_FAILURE() << "the budget never ended";
      if (salt > 1000) return;
    }
  }

  void Note(const FrozenSubPush& sub_push, const TablePart& share,
            const wire::SubPushResult& result) {
    ASSERT_EQ(result.outcome, wire::Outcome::kApplied);
    ASSERT_EQ(result.counts[0].rows_created + result.counts[0].rows_refused, share.keys.size());
    ASSERT_EQ(result.counts[0].rows_refused, result.refused_keys.size());
    const std::set<Key> refused(result.refused_keys.begin(), result.refused_keys.end());
    for (const Key key : share.keys) (refused.contains(key) ? refused_ : stored_).push_back(key);
    if (refused.empty()) {
      EXPECT_TRUE(result.error.ok());
      return;
    }
    EXPECT_EQ(result.error.kind, wire::ErrorKind::kCapacityFull);
    EXPECT_EQ(result.error.table, "t");
    last_refusal_ = sub_push;
    last_answer_ = result;
  }

  void RemoveAll() {
    std::map<uint32_t, std::vector<Key>> gone;
    for (const Key key : stored_) gone[one_.map().PartitionOf(key, salt_)].push_back(key);
    for (const auto& [partition, keys] : gone) {
      one_.Send(Freeze(partition, ++next_[partition], wire::Operation::kRemove,
                       {{one_.table_id(), keys, {}, 0, 1, 0.0F}}));
    }
    EXPECT_EQ(one_.Stats().rows(), 0U);
  }

  OneTable one_{SgdSchema("t", kDim), {.memory_budget_bytes = kBudget, .on_disk = false}};
  const uint64_t salt_ = wire::TableSalt("t");
  std::map<uint32_t, uint64_t> next_;
  std::vector<Key> stored_;
  std::vector<Key> refused_;
  FrozenSubPush last_refusal_;
  wire::SubPushResult last_answer_;
};

TEST_F(FullShard, StoresExactlyTheKeysThatItDidNotRefuse) {
  EXPECT_EQ(one_.Stats().rows(), stored_.size());
  EXPECT_EQ(one_.Stats().rows_refused(), refused_.size());
  EXPECT_LE(one_.Stats().allocated_bytes(), static_cast<uint64_t>(kBudget));
  for (const Key key : stored_) ASSERT_EQ(one_.Pull({key})[1], 0.0F - MixedValue(key, 1));
  for (const Key key : refused_) ASSERT_EQ(one_.Pull({key})[1], 0.0F);
}

TEST_F(FullShard, ServesKnownKeysOfASubPushThatAlsoHasNewOnes) {
  const uint32_t partition = last_refusal_.header.partition;
  std::vector<Key> keys;
  for (const Key key : stored_) {
    if (one_.map().PartitionOf(key, salt_) == partition) keys.push_back(key);
  }
  ASSERT_FALSE(keys.empty());
  const size_t known = keys.size();
  keys.insert(keys.begin() + 1, last_answer_.refused_keys[0]);
  const auto sub_push = Freeze(partition, ++next_[partition], wire::Operation::kPush,
                               {one_.Part(keys, MixedRows(keys, kDim, 5))});
  const auto result = one_.Send(sub_push);
  EXPECT_EQ(result.outcome, wire::Outcome::kApplied);
  EXPECT_EQ(result.error.kind, wire::ErrorKind::kCapacityFull);
  EXPECT_EQ(result.counts[0].rows_updated, known);
  EXPECT_EQ(result.refused_keys, std::vector<Key>{last_answer_.refused_keys[0]});
  for (const Key key : {keys[0], keys.back()}) {
    EXPECT_EQ(one_.Pull({key})[1], 0.0F - MixedValue(key, 1) - MixedValue(key, 1, 5));
  }
}

TEST_F(FullShard, AnswersARetryWithTheSameRefusedKeys) {
  const auto again = one_.Send(last_refusal_);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.outcome, wire::Outcome::kApplied);
  EXPECT_EQ(again.error.kind, wire::ErrorKind::kCapacityFull);
  EXPECT_EQ(again.refused_keys, last_answer_.refused_keys);
}

TEST_F(FullShard, CreatesRowsAgainAfterSomeWereRemoved) {
  const Key refused = last_answer_.refused_keys[0];
  RemoveAll();
  const uint32_t partition = one_.map().PartitionOf(refused, salt_);
  const auto result = one_.Send(Freeze(partition, ++next_[partition], wire::Operation::kPush,
                                       {one_.Part({refused}, MixedRows({refused}, kDim))}));
  EXPECT_EQ(result.counts[0].rows_created, 1U);
}

// One table's rows lay on all strands, the other's are all of one.
TEST_F(FullShard, GivesTheMemoryOfRemovedRowsToAnotherTable) {
  v1::CreateTableRequest request;
  *request.mutable_schema() = SgdSchema("u", kDim);
  const auto none = one_.shard().CreateTable(request);
  RemoveAll();
  const auto created = one_.shard().CreateTable(request);
  ASSERT_TRUE(created.ok()) << none.status() << ", then " << created.status();
  const uint32_t partition = one_.map().PartitionOf(stored_[0], salt_);
  const auto keys = KeysOf(one_.map(), "u", partition, static_cast<int64_t>(stored_.size()));
  size_t stored = 0;
  for (size_t begin = 0; begin < keys.size(); begin += 100) {
    const std::vector<Key> some(
        keys.begin() + static_cast<int64_t>(begin),
        keys.begin() + static_cast<int64_t>(std::min(begin + 100, keys.size())));
    const TablePart part{.table_id = created->table().table_id(),
                         .keys = some,
                         .rows = MixedRows(some, kDim),
                         .dim = kDim};
    const auto result =
        one_.Send(Freeze(partition, ++next_[partition], wire::Operation::kPush, {part}));
    stored += result.counts[0].rows_created;
  }
  // What is missing are the first pieces of memory that the empty table keeps on each strand.
  EXPECT_GE(stored, stored_.size() * 3 / 4) << "of " << stored_.size();
}

}  // namespace
}  // namespace hotrow::test
