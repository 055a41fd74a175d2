// The order in which a push is checked, where two checks would give different answers.

#include <gtest/gtest.h>

#include <future>
#include <limits>

#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::ErrorKind;
using wire::Outcome;

constexpr uint32_t kDim = 4;

// A shard whose queue has no room left, until it is released.
class FullQueue : public testing::Test {
 protected:
  void Fill() {
    blocker_ = std::make_unique<StrandBlocker>(one_.shard());  // takes one place
    one_.shard().Pull(PullMessage(one_.table_id(), {1}), kNoDeadline,
                      [this](PullReply reply) { queued_.set_value(std::move(reply)); });
  }
  void Release() {
    blocker_->Release();
    queued_.get_future().get();
  }
  ErrorKind KindFor(wire::PushRequest request) {
    const wire::PushResponse response = PushNow(one_.shard(), std::move(request));
    return response.error.ok() ? response.results[0].error.kind : response.error.kind;
  }

  OneTable one_{SgdSchema("t", kDim), {.max_queued_requests = 2, .strands = 1}};
  std::unique_ptr<StrandBlocker> blocker_;
  std::promise<PullReply> queued_;
};

TEST_F(FullQueue, FencesComeBeforeAdmission) {
  const auto push = one_.Push(3, 1, one_.Keys(3, 2));
  Fill();
  EXPECT_EQ(KindFor(Message(one_.session(), {push})), ErrorKind::kOverloaded);
  auto other_map = Message(one_.session(), {push});
  other_map.map_version += 1;
  EXPECT_EQ(KindFor(std::move(other_map)), ErrorKind::kStaleMap);
  auto other_timeline = Message(one_.session(), {push});
  other_timeline.timeline += 1;
  EXPECT_EQ(KindFor(std::move(other_timeline)), ErrorKind::kStaleMap);
  auto other_life = Message(one_.session(), {push});
  other_life.sub_pushes[0].owner_epoch = one_.shard().server_start_id() + 1;
  EXPECT_EQ(KindFor(std::move(other_life)), ErrorKind::kStaleMap);
  EXPECT_EQ(one_.shard().counters().sub_pushes_retried.value(), 3U);
  Release();
  EXPECT_EQ(one_.Send(push).outcome, Outcome::kApplied) << "the number stayed open";
}

TEST_F(FullQueue, AdmissionComesBeforeTheDuplicateCheck) {
  const auto push = one_.Push(3, 1, one_.Keys(3, 2));
  EXPECT_EQ(one_.Send(push).outcome, Outcome::kApplied);
  Fill();
  EXPECT_EQ(KindFor(Message(one_.session(), {push})), ErrorKind::kOverloaded);
  Release();
  EXPECT_TRUE(one_.Send(push).duplicate);
}

TEST(PushOrder, TheDuplicateCheckComesBeforeValidity) {
  OneTable one(SgdSchema("t", kDim));
  const auto push = one.Push(3, 1, one.Keys(3, 2));
  const auto first = one.Send(push);
  ASSERT_TRUE(one.shard().DropTable("t").ok());
  const auto again = one.Send(push);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.outcome, Outcome::kApplied) << "what was applied stays applied";
  EXPECT_EQ(again.counts.size(), first.counts.size());
  EXPECT_EQ(one.Send(one.Push(3, 2, one.Keys(3, 2))).error.kind, ErrorKind::kNotFound);
}

TEST(PushOrder, ValidityComesBeforeCapacity) {
  OneTable one(SgdSchema("t", kDim), {.memory_budget_bytes = 1 << 20, .on_disk = false});
  std::map<uint32_t, uint64_t> next;
  bool full = false;
  for (uint64_t salt = 0; !full && salt < 1000; ++salt) {
    const auto keys = MixedKeys(500, salt);
    const TablePart part = one.Part(keys, MixedRows(keys, kDim));
    for (const auto& [partition, share] : ByPartition(part, one.map(), wire::TableSalt("t"))) {
      const auto result =
          one.Send(Freeze(partition, ++next[partition], wire::Operation::kPush, {share}));
      full = full || result.error.kind == ErrorKind::kCapacityFull;
    }
  }
  ASSERT_TRUE(full);
  const auto keys = one.Keys(3, 2000);  // some of which are new
  TablePart part = one.Part(keys, MixedRows(keys, kDim));
  part.rows.back() = std::numeric_limits<float>::quiet_NaN();
  const uint64_t refused = one.Stats().rows_refused();
  const auto result = one.Send(Freeze(3, ++next[3], wire::Operation::kPush, {part}));
  EXPECT_EQ(result.outcome, Outcome::kRefused);
  EXPECT_EQ(result.error.kind, ErrorKind::kInvalidArgument);
  EXPECT_EQ(one.Stats().rows_refused(), refused);
}

TEST(PushOrder, AMixedMessageIsFencedSubPushBySubPush) {
  OneTable one(SgdSchema("t", kDim));
  auto meant_for_another = one.Push(3, 1, one.Keys(3, 2));
  meant_for_another.header.owner_epoch = one.shard().server_start_id() + 1;
  const auto response = PushNow(
      one.shard(), Message(one.session(), {meant_for_another, one.Push(4, 1, one.Keys(4, 2))}));
  EXPECT_EQ(response.results[0].error.kind, ErrorKind::kStaleMap);
  EXPECT_EQ(response.results[1].outcome, Outcome::kApplied);
}

}  // namespace
}  // namespace hotrow::test
