#include "client/src/request_queue.h"

#include <thread>

#include "tests/client/queue_on_a_stream.h"

namespace hotrow::testing {
namespace {

using std::chrono::microseconds;

struct QueueClock final : client::Timed {
  explicit QueueClock(RequestQueue& watched) : queue(watched) {}
  TimePoint OnTime(TimePoint now) override { return queue.OnTime(now); }
  RequestQueue& queue;
};

TEST(RequestQueue, ADeadlineThatPassesWhileARequestIsEnqueuedIsNotMissed) {
  Alarm alarm;
  RequestQueue queue(RequestQueue::Kind::kPull, 0, "nowhere", alarm, kRecovery);
  QueueClock clock(queue);
  alarm.Register(clock);
  alarm.Start();
  for (int i = 0; i < 20000; ++i) {
    // Nothing else will wake the alarm: a missed deadline is missed for ever.
    const auto request = std::make_shared<NotedRequest>(Now() + microseconds(i % 64));
    queue.Enqueue(request);
    ASSERT_TRUE(Becomes([&] { return request->settled == 1; })) << i;
    ASSERT_EQ(KindOf(request->failure), ErrorKind::kUnavailable);
  }
  alarm.Stop();
}

TEST_F(QueueOnAStream, LeavesARequestAloneWhileItIsEncoded) {
  const auto request = Enqueue(Now() + std::chrono::hours(1));
  request->held = true;
  std::thread sender([&] { Attach(); });
  ASSERT_TRUE(Becomes([&] { return request->busy.load(); }));
  // The stream breaks, another takes its place, and the deadline passes.
  Reattach();
  queue_.OnTime(Now() + std::chrono::hours(2));
  EXPECT_EQ(request->encoded, 1);
  EXPECT_EQ(request->settled, 0);
  request->held = false;
  sender.join();
  ASSERT_TRUE(IsSent(request, 2));  // for the new stream
  Answer(request);
  EXPECT_EQ(request->settled, 1);
  EXPECT_FALSE(request->overlapped);
}

TEST_F(QueueOnAStream, ARequestThatIsEncodedWhenAllFailsIsSettledAfterwards) {
  const auto request = Enqueue();
  request->held = true;
  std::thread sender([&] { Attach(); });
  ASSERT_TRUE(Becomes([&] { return request->busy.load(); }));
  queue_.Fail(absl::CancelledError("over"));
  EXPECT_EQ(request->settled, 0);
  request->held = false;
  sender.join();
  EXPECT_EQ(request->settled, 1);
  EXPECT_FALSE(request->overlapped);
}

TEST_F(QueueOnAStream, DamagedRepliesFailOnlyTheRequestThatTheyAnswer) {
  const auto good = Enqueue();
  const auto bad = Enqueue();
  const auto late = Enqueue();
  Attach();
  ASSERT_TRUE(Becomes([&] { return late->encoded == 1; }));
  ReceiveDamage();  // of which of the three?
  ASSERT_TRUE(Becomes([&] { return good->encoded == 2; }));
  EXPECT_EQ(bad->encoded, 1);  // one at a time now
  Answer(good);
  ASSERT_TRUE(Becomes([&] { return bad->encoded == 2; }));
  // The first damage may or may not count: the loop thread may still be encoding what it meets.
  int damaged = 1;
  for (; bad->settled == 0 && damaged <= client::kMaxDamagedPushes; ++damaged) ReceiveDamage();
  EXPECT_GE(damaged, client::kMaxDamagedPushes);
  EXPECT_EQ(bad->settled, 1);
  EXPECT_EQ(KindOf(bad->failure), ErrorKind::kSessionLost);
  EXPECT_EQ(DescribeError(bad->failure).shard, 7);
  EXPECT_NE(bad->failure.message().find("shard 7 at somewhere"), absl::string_view::npos);
  // Once more when the end of the last write came between the failure and the break.
  ASSERT_TRUE(Becomes([&] { return late->encoded >= 2; }));
  ASSERT_TRUE(Becomes([&] { return !late->busy; }));
  Answer(late);
  EXPECT_OK(good->failure);
  EXPECT_OK(late->failure);
  const auto first = Enqueue();
  const auto second = Enqueue();
  queue_.Pump();
  EXPECT_TRUE(Becomes([&] { return first->encoded == 1 && second->encoded == 1; }));
}

TEST_F(QueueOnAStream, PushesDoNotRunAheadOfOneThatIsNotAnswered) {
  std::vector<std::shared_ptr<NotedRequest>> requests;
  for (int i = 0; i < 2 * client::kSendWindow; ++i) requests.push_back(Enqueue());
  Attach();
  ASSERT_TRUE(Becomes([&] { return requests[client::kSendWindow - 1]->encoded == 1; }));
  for (int i = 1; i < client::kSendWindow; ++i) Answer(requests[i]);
  EXPECT_EQ(requests[client::kSendWindow]->encoded, 0);
  Answer(requests[0]);
  EXPECT_TRUE(Becomes([&] { return requests.back()->encoded == 1; }));
}

}  // namespace
}  // namespace hotrow::testing
