// What a queue sends again after a refusal, when, and how often.

#include <gtest/gtest.h>

#include "client/src/backoff.h"
#include "client/src/retry_budget.h"
#include "tests/client/queue_on_a_stream.h"

namespace hotrow::testing {
namespace {

using client::kSendWindow;
using client::RetryBudget;
using std::chrono::seconds;

wire::ErrorInfo Refusal(wire::ErrorKind kind) { return {.kind = kind, .message = "no"}; }

TEST(RetryBudget, AllowsATenthOfTheRequestsAndWhatWasSavedUp) {
  const TimePoint now{};
  RetryBudget budget(now);
  int retries = 0;
  for (int i = 0; i < 10'000; ++i) {
    budget.CountRequest();
    if (i >= 5000) retries += budget.TryTake(now) ? 1 : 0;
  }
  EXPECT_LE(retries, 500 + static_cast<int>(RetryBudget::kMost));
  EXPECT_GE(retries, 490);
}

TEST(RetryBudget, GivesLeaveAFewTimesASecondWithoutRequests) {
  TimePoint now{};
  RetryBudget budget(now);
  while (budget.TryTake(now)) {
  }
  for (int i = 0; i < 100; ++i) {
    const TimePoint next = budget.NextAt(now);
    EXPECT_FALSE(budget.TryTake(next - milliseconds(10)));
    EXPECT_TRUE(budget.TryTake(next));
    now = next;
  }
  EXPECT_NEAR(std::chrono::duration<double>(now.time_since_epoch()).count(),
              100 / RetryBudget::kPerSecond, 1.0);
}

TEST(Backoff, ComesAtDifferentTimesAfterAShardsAdvice) {
  std::set<int64_t> delays;
  for (int i = 0; i < 1000; ++i) {
    const int64_t delay = client::Backoff(1, 1000).count();
    EXPECT_GE(delay, 1000);
    EXPECT_LE(delay, 1500);
    delays.insert(delay);
  }
  EXPECT_GT(delays.size(), 100u);
  EXPECT_GE(client::Backoff(8, 50).count(), 320) << "advice does not shorten the delay";
}

class QueuedPushes : public QueueOnAStream {
 protected:
  std::vector<std::shared_ptr<NotedRequest>> EnqueueMany(int count) {
    std::vector<std::shared_ptr<NotedRequest>> requests;
    for (int i = 0; i < count; ++i) requests.push_back(Enqueue());
    return requests;
  }
};

TEST_F(QueuedPushes, WhatASentStreamLeavesUnansweredGoesOutAgainInOrder) {
  const auto requests = EnqueueMany(3);
  Attach();
  for (const auto& request : requests) ASSERT_TRUE(IsSent(request, 1));
  Answer(requests[1]);
  Reattach();
  ASSERT_TRUE(IsSent(requests[0], 2));
  ASSERT_TRUE(IsSent(requests[2], 2));
  EXPECT_EQ(requests[1]->encoded, 1);
  EXPECT_LT(requests[0]->sent_as, requests[2]->sent_as);
}

TEST_F(QueuedPushes, AReplyToAnEarlierAttemptIsNotTakenForTheLastOnes) {
  const auto request = Enqueue();
  Attach();
  ASSERT_TRUE(IsSent(request, 1));
  const uint64_t first = request->sent_as;
  request->refused_with = Refusal(wire::ErrorKind::kOutOfOrder);
  Answer(request);
  ASSERT_TRUE(IsSent(request, 2));
  EXPECT_NE(request->sent_as, first);
  const int answered = request->answered;
  for (int i = 0; i < 10; ++i) AnswerAs(first);  // it was repeated on the way
  EXPECT_EQ(request->answered, answered);
  request->refused_with = {};
  Answer(request);
  EXPECT_EQ(request->settled, 1);
}

TEST_F(QueuedPushes, NothingOvertakesWhatWaitsToBeSentAgain) {
  const auto first = Enqueue();
  Attach();
  ASSERT_TRUE(IsSent(first, 1));
  first->refused_with = Refusal(wire::ErrorKind::kUnavailable);
  first->again_after = std::chrono::hours(1);
  Answer(first);
  const auto second = Enqueue();
  queue_.Pump();
  queue_.OnTime(Now());
  EXPECT_EQ(second->encoded, 0);
}

TEST_F(QueuedPushes, GoOneAtATimeAfterARefusalForWantOfRoomUntilManyWereLetIn) {
  const auto requests = EnqueueMany(2 * kSendWindow);
  Attach();
  for (int i = 0; i < kSendWindow; ++i) ASSERT_TRUE(IsSent(requests[i], 1));
  requests[0]->refused_with = Refusal(wire::ErrorKind::kOverloaded);
  Answer(requests[0]);
  for (int i = 1; i < kSendWindow; ++i) {
    requests[i]->refused_with = Refusal(wire::ErrorKind::kOutOfOrder);
    Answer(requests[i]);
  }
  ASSERT_TRUE(IsSent(requests[0], 2));
  for (int i = 0; i < kSendWindow; ++i) {
    EXPECT_EQ(requests[std::min(i + 1, kSendWindow - 1)]->encoded, i + 1 < kSendWindow ? 1 : 2)
        << i;
    requests[i]->refused_with = {};
    Answer(requests[i]);
    // What was refused waits for the budget, a fifth of a second at most.
    while (i + 1 < kSendWindow && requests[i + 1]->encoded < 2) queue_.OnTime(Now());
  }
  for (const auto& request : requests) EXPECT_TRUE(Becomes([&] { return request->encoded > 0; }));
}

TEST_F(QueuedPushes, WaitLongerOnceTheBudgetOfRetriesIsUsedUp) {
  const auto request = Enqueue();
  Attach();
  ASSERT_TRUE(IsSent(request, 1));
  request->refused_with = Refusal(wire::ErrorKind::kOverloaded);
  const TimePoint began = Now();
  constexpr int kRetries = 16;
  for (int i = 1; i <= kRetries; ++i) {
    Answer(request);
    ASSERT_TRUE(Becomes([&] {
      queue_.OnTime(Now());
      return request->encoded == i + 1;
    }));
  }
  const auto least = std::chrono::duration<double>((kRetries - RetryBudget::kMost - 1.0) /
                                                   RetryBudget::kPerSecond);
  EXPECT_GE(Now() - began, least) << "of " << kRetries << " retries " << RetryBudget::kMost
                                  << " were saved up";
  EXPECT_EQ(request->settled, 0) << "a push belongs to the client";
}

class QueuedPulls : public QueueOnAStream {
 protected:
  QueuedPulls() : QueueOnAStream(RequestQueue::Kind::kPull) {}
  void AnswerAs(uint64_t wire_id) override {
    wire::PullResponse response;
    response.request_id = wire_id;
    response.payload_hash = wire::Payload().Hash();
    EXPECT_OK(queue_.OnMessage(wire::Encode(response, {})));
  }
};

TEST_F(QueuedPulls, AreSentAgainAfterABreak) {
  const auto request = Enqueue();
  Attach();
  ASSERT_TRUE(IsSent(request, 1));
  Reattach();
  ASSERT_TRUE(IsSent(request, 2));
}

TEST_F(QueuedPulls, FailWithTheShardsWordsOnceTheBudgetOfRetriesIsUsedUp) {
  const auto request = Enqueue();
  Attach();
  ASSERT_TRUE(IsSent(request, 1));
  request->refused_with = {.kind = wire::ErrorKind::kOverloaded,
                           .message = "the shard's queue is full",
                           .hint = "try again later",
                           .shard = 7,
                           .retry_after_ms = 50};
  const TimePoint began = Now();
  while (request->settled == 0 && Now() < began + seconds(20)) {
    Answer(request);
    ASSERT_TRUE(Becomes([&] {
      queue_.OnTime(Now());
      return request->settled == 1 || request->encoded > request->answered;
    }));
  }
  EXPECT_GE(request->answered, static_cast<int>(RetryBudget::kMost));
  EXPECT_EQ(KindOf(request->failure), ErrorKind::kOverloaded);
  const ErrorDetails details = DescribeError(request->failure);
  EXPECT_EQ(details.shard, 7);
  EXPECT_EQ(details.retry_after_ms, 50u);
  EXPECT_FALSE(details.hint.empty());
}

TEST_F(QueuedPulls, WaitForAShardThatIsAwayAtNoCostToTheBudget) {
  const auto request = Enqueue();
  request->refused_with = Refusal(wire::ErrorKind::kUnavailable);
  Attach();
  for (int i = 1; i <= 30; ++i) {
    ASSERT_TRUE(IsSent(request, i));
    Answer(request);
    ASSERT_TRUE(Becomes([&] {
      queue_.OnTime(Now());
      return request->encoded == i + 1;
    }));
  }
  EXPECT_EQ(request->settled, 0);
}

}  // namespace
}  // namespace hotrow::testing
