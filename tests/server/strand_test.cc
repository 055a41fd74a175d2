// The strand and the bounds that a shard puts on its queue.

#include "server/shard/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/server/shard_harness.h"

namespace hotrow::test {
namespace {

using Admission = Strand::Admission;
using std::chrono::steady_clock;

// A task that holds the strand until told to go on.
struct Gate {
  std::promise<void> entered;
  std::promise<void> released;

  void Hold(Strand& strand) {
    ASSERT_EQ(strand.Reserve(0), Admission::kAdmitted);
    strand.Post(
        [this] {
          entered.set_value();
          released.get_future().get();
        },
        0);
    entered.get_future().get();
  }
};

TEST(Strand, RunsRequestsInTheirOrderAndControlCallsFirst) {
  std::vector<int> order;  // written by the strand only
  Gate gate;
  Strand strand({100, 100});
  gate.Hold(strand);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(strand.Reserve(1), Admission::kAdmitted);
    strand.Post([&order, i] { order.push_back(i); }, 1);
  }
  std::thread control([&] { strand.Run([&order] { order.push_back(0); }); });
  EXPECT_EQ(strand.queued_requests(), 4);
  while (!strand.has_control_calls()) std::this_thread::yield();
  gate.released.set_value();
  control.join();
  EXPECT_TRUE(strand.WaitUntilIdle(steady_clock::time_point::max()));
  strand.Stop();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Strand, BoundsRequestsAndBytesAndGivesRoomBack) {
  Gate gate;
  Strand strand({3, 100});
  gate.Hold(strand);
  EXPECT_EQ(strand.Reserve(101), Admission::kFull);
  EXPECT_EQ(strand.Reserve(100), Admission::kAdmitted);
  EXPECT_EQ(strand.Reserve(1), Admission::kFull) << "bytes";
  EXPECT_EQ(strand.Reserve(0), Admission::kAdmitted);
  EXPECT_EQ(strand.Reserve(0), Admission::kFull) << "requests";
  strand.Post([] {}, 100);
  strand.Post([] {}, 0);
  gate.released.set_value();
  EXPECT_TRUE(strand.WaitUntilIdle(steady_clock::time_point::max()));
  EXPECT_EQ(strand.Reserve(100), Admission::kAdmitted);
  strand.Post([] {}, 100);
}

TEST(Strand, RunsWhatItAcceptedBeforeItStops) {
  std::atomic<int> ran{0};
  {
    Strand strand({100, 100});
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(strand.Reserve(1), Admission::kAdmitted);
      strand.Post([&] { ++ran; }, 1);
    }
    strand.Close();
    EXPECT_EQ(strand.Reserve(0), Admission::kClosed);
    strand.Stop();
    EXPECT_EQ(ran, 50);
    EXPECT_FALSE(strand.Run([&] { ++ran; }));
  }
  EXPECT_EQ(ran, 50);
}

TEST(ShardQueue, RefusesWithOverloadedAndAHintWhenItIsFull) {
  OneTable one(SgdSchema("t", 2), {.max_queued_requests = 2});
  StrandBlocker blocker(one.shard());
  std::promise<PullReply> queued;
  one.shard().Pull(PullMessage(one.table_id(), {1}), kNoDeadline,
                   [&](PullReply reply) { queued.set_value(std::move(reply)); });
  const auto refused = PullNow(one.shard(), PullMessage(one.table_id(), {1}));
  EXPECT_EQ(refused.message.error.kind, wire::ErrorKind::kOverloaded);
  EXPECT_GT(refused.message.error.retry_after_ms, 0U);
  const auto push = PushNow(one.shard(), Message(one.session(), {one.Push(3, 1, one.Keys(3, 1))}));
  EXPECT_EQ(push.error.kind, wire::ErrorKind::kOverloaded);
  EXPECT_EQ(one.shard().counters().overload_refusals.value(), 2U);
  blocker.Release();
  EXPECT_TRUE(queued.get_future().get().message.error.ok());
  EXPECT_EQ(one.Send(one.Push(3, 1, one.Keys(3, 1))).outcome, wire::Outcome::kApplied)
      << "the refused number stayed open";
}

TEST(ShardQueue, CountsBytesBeforeItQueues) {
  OneTable one(SgdSchema("t", 2), {.max_queued_bytes = 4096});
  EXPECT_EQ(
      PullNow(one.shard(), PullMessage(one.table_id(), std::vector<Key>(513))).message.error.kind,
      wire::ErrorKind::kOverloaded);
  EXPECT_EQ(
      PullNow(one.shard(), PullMessage(one.table_id(), std::vector<Key>(400))).message.error.kind,
      wire::ErrorKind::kNone);
}

TEST(ShardQueue, AnswersWorkWhoseDeadlineHasPassedWithoutDoingIt) {
  OneTable one(SgdSchema("t", 2));
  const auto past = steady_clock::now() - std::chrono::milliseconds(1);
  const auto pull = PullNow(one.shard(), PullMessage(one.table_id(), {1}), past);
  EXPECT_EQ(pull.message.error.kind, wire::ErrorKind::kDeadlineExceeded);
  const auto push = one.Push(3, 1, one.Keys(3, 1));
  const auto late = PushNow(one.shard(), Message(one.session(), {push}), past);
  EXPECT_EQ(late.error.kind, wire::ErrorKind::kDeadlineExceeded);
  EXPECT_EQ(one.Stats().rows(), 0U);
  const auto in_time = one.Send(push);
  EXPECT_EQ(in_time.outcome, wire::Outcome::kApplied);
  EXPECT_FALSE(in_time.duplicate);
  EXPECT_EQ(one.shard().counters().deadlines_passed.value(), 2U);
}

TEST(ShardDrain, AnswersWhatWasAcceptedAndRefusesTheRest) {
  OneTable one(SgdSchema("t", 2));
  auto blocker = std::make_unique<StrandBlocker>(one.shard());
  std::promise<wire::PushResponse> accepted;
  one.shard().Push(Message(one.session(), {one.Push(3, 1, one.Keys(3, 4))}), kNoDeadline,
                   [&](wire::PushResponse response) { accepted.set_value(std::move(response)); });
  EXPECT_FALSE(one.shard().Drain(steady_clock::now())) << "work is left";
  const auto refused = PullNow(one.shard(), PullMessage(one.table_id(), {1}));
  EXPECT_EQ(refused.message.error.kind, wire::ErrorKind::kUnavailable);
  const auto push = PushNow(one.shard(), Message(one.session(), {one.Push(4, 1, one.Keys(4, 1))}));
  EXPECT_EQ(push.error.kind, wire::ErrorKind::kUnavailable);
  blocker = nullptr;
  EXPECT_TRUE(one.shard().Drain(kNoDeadline));
  EXPECT_EQ(accepted.get_future().get().results[0].outcome, wire::Outcome::kApplied);
  EXPECT_EQ(KindOf(one.shard().OpenSession(SessionRequest(9)).status()),
            wire::ErrorKind::kUnavailable);
  v1::CreateTableRequest create;
  *create.mutable_schema() = SgdSchema("u", 2);
  EXPECT_EQ(KindOf(one.shard().CreateTable(create).status()), wire::ErrorKind::kUnavailable);
  EXPECT_EQ(one.shard().GetStats("")->state(), "draining");
  EXPECT_EQ(one.Stats().rows(), 4U) << "status questions are still answered";
}

}  // namespace
}  // namespace hotrow::test
