// The strand and the bounds that a shard puts on its queue.

#include "server/shard/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "server/shard/request_gate.h"
#include "server/shard/shared_work.h"
#include "tests/server/shard_harness.h"

namespace hotrow::test {
namespace {

using Admission = RequestGate::Admission;
using std::chrono::steady_clock;

using Where = Strand::Where;

// A task that holds the strand until told to go on.
struct Gate {
  std::promise<void> entered;
  std::promise<void> released;

  void Hold(Strand& strand) {
    strand.Post(
        [this] {
          entered.set_value();
          released.get_future().get();
        },
        Where::kOwnThread);
    entered.get_future().get();
  }
};

TEST(Strand, RunsRequestsInTheirOrderAndControlCallsFirst) {
  std::vector<int> order;  // written by the strand only
  Gate gate;
  Strand strand;
  gate.Hold(strand);
  for (int i = 1; i <= 3; ++i) {
    const Where where = i == 2 ? Where::kHereIfIdle : Where::kOwnThread;
    strand.Post([&order, i] { order.push_back(i); }, where);
  }
  std::thread control([&] { strand.Run([&order] { order.push_back(0); }); });
  EXPECT_EQ(strand.waiting_requests(), 3);
  while (!strand.has_control_calls()) std::this_thread::yield();
  gate.released.set_value();
  control.join();
  strand.Stop();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Strand, RunsAShortRequestOnTheCallerOnlyWhileItIsIdle) {
  Strand strand;
  std::thread::id ran_on;
  strand.Post([&] { ran_on = std::this_thread::get_id(); }, Where::kHereIfIdle);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  Gate gate;
  gate.Hold(strand);
  strand.Post([&] { ran_on = std::this_thread::get_id(); }, Where::kHereIfIdle);
  EXPECT_EQ(strand.waiting_requests(), 1);
  gate.released.set_value();
  strand.Stop();
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(Strand, IsASingleWriterWhateverThreadsItsTasksRunOn) {
  Strand strand;
  int64_t count = 0;  // not atomic: a second writer loses counts, and ThreadSanitizer reports it
  bool inside = false;
  std::atomic<int> overlaps{0};
  const auto task = [&] {
    if (std::exchange(inside, true)) ++overlaps;
    ++count;
    inside = false;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        if (i % 100 == 0) {
          strand.Run(task);
        } else {
          strand.Post(task, (i + t) % 2 == 0 ? Where::kHereIfIdle : Where::kOwnThread);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  strand.Stop();
  EXPECT_EQ(count, 8000);
  EXPECT_EQ(overlaps, 0);
}

TEST(Strand, RunsWhatItAcceptedBeforeItStops) {
  std::atomic<int> ran{0};
  {
    Strand strand;
    for (int i = 0; i < 50; ++i) strand.Post([&] { ++ran; }, Where::kOwnThread);
    strand.Stop();
    EXPECT_EQ(ran, 50);
    EXPECT_FALSE(strand.Run([&] { ++ran; }));
  }
  EXPECT_EQ(ran, 50);
}

TEST(RequestGate, BoundsRequestsAndBytesAndTakesRoomBack) {
  RequestGate gate({3, 100});
  EXPECT_EQ(gate.Reserve(101), Admission::kFull);
  EXPECT_EQ(gate.Reserve(0), Admission::kAdmitted);
  EXPECT_EQ(gate.Reserve(100), Admission::kAdmitted);
  EXPECT_EQ(gate.Reserve(1), Admission::kFull) << "bytes";
  EXPECT_EQ(gate.Reserve(0), Admission::kAdmitted);
  EXPECT_EQ(gate.Reserve(0), Admission::kFull) << "requests";
  EXPECT_FALSE(gate.WaitUntilIdle(steady_clock::now()));
  gate.Release(100);
  EXPECT_EQ(gate.Reserve(100), Admission::kAdmitted);
  gate.Close();
  EXPECT_EQ(gate.Reserve(0), Admission::kClosed);
  for (const int bytes : {0, 0, 100}) gate.Release(bytes);
  EXPECT_TRUE(gate.WaitUntilIdle(steady_clock::now()));
}

TEST(SharedWork, IsFinishedOnceByTheLastPartAndJudgedByTheFirst) {
  SharedWork work;
  int finished = 0;
  const auto soon = steady_clock::now() + std::chrono::hours(1);
  work.Begin(2, soon, [&] { ++finished; });
  EXPECT_TRUE(work.InTime(soon - std::chrono::seconds(1)));
  work.EndPart();
  EXPECT_EQ(finished, 0);
  EXPECT_TRUE(work.InTime(soon)) << "one strand has begun, so the others do their parts too";
  work.EndPart();
  EXPECT_EQ(finished, 1);
  work.Begin(2, soon, [] {});
  EXPECT_FALSE(work.InTime(soon));
  EXPECT_FALSE(work.InTime(soon - std::chrono::seconds(1)));
  work.Begin(0, soon, [&] { ++finished; });
  EXPECT_EQ(finished, 2);
}

TEST(ShardQueue, RefusesWithOverloadedAndAHintWhenItIsFull) {
  OneTable one(SgdSchema("t", 2), {.max_queued_requests = 2, .strands = 1});
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
  OneTable one(SgdSchema("t", 2), {.strands = 1});
  auto blocker = std::make_unique<StrandBlocker>(one.shard());
  std::promise<wire::PushResponse> accepted;
  one.shard().Push(Message(one.session(), {one.Push(3, 1, one.Keys(3, 4))}), kNoDeadline,
                   [&](PushReply reply) { accepted.set_value(std::move(reply.message)); });
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
