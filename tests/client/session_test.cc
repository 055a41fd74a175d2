#include "client/src/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "hotrow/errors.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

std::vector<uint64_t> NumbersOf(Session& session, const std::vector<uint32_t>& partitions) {
  std::vector<wire::SubPush> sub_pushes(partitions.size());
  std::vector<wire::SubPush*> pointers;
  for (size_t i = 0; i < partitions.size(); ++i) {
    sub_pushes[i].partition = partitions[i];
    pointers.push_back(&sub_pushes[i]);
  }
  EXPECT_TRUE(session.Number(pointers, [] {}).ok());
  std::vector<uint64_t> numbers;
  for (const wire::SubPush& sub_push : sub_pushes) numbers.push_back(sub_push.sequence);
  return numbers;
}

TEST(Session, TellsTheShardsWhoTheWorkerIs) {
  const Session session({.job = "ads", .rank = 3, .world_size = 4}, 2);
  const v1::OpenSessionRequest request = session.OpenRequest();
  EXPECT_EQ(request.job(), "ads");
  EXPECT_EQ(request.rank(), 3U);
  EXPECT_EQ(request.world_size(), 4U);
  EXPECT_EQ(request.session(), session.id());
}

TEST(Session, CountsFromOneInEachPartitionWithoutHoles) {
  Session session({}, 3);
  EXPECT_EQ(NumbersOf(session, {0, 0, 2}), (std::vector<uint64_t>{1, 2, 1}));
  EXPECT_EQ(NumbersOf(session, {2, 1, 0}), (std::vector<uint64_t>{2, 1, 3}));
}

TEST(Session, SendsNumbersOutInTheirOrder) {
  Session session({}, 1);
  wire::SubPush sub_push;
  bool inside = false;
  // Whoever numbers next waits until these are on their way.
  EXPECT_TRUE(session.Number({&sub_push}, [&] { inside = sub_push.sequence == 1; }).ok());
  EXPECT_TRUE(inside);
}

TEST(Session, PutsTheOwnersEpochOnWhatItNumbers) {
  Session session({}, 2);
  session.SetOwnerEpoch(1, 77);
  wire::SubPush here{.partition = 1};
  wire::SubPush unknown{.partition = 0};
  EXPECT_TRUE(session.Number({&here, &unknown}, [] {}).ok());
  EXPECT_EQ(here.owner_epoch, 77u);
  EXPECT_EQ(unknown.owner_epoch, 0u);
}

TEST(Session, NumbersNothingOnceItIsLostAndKeepsTheFirstCause) {
  Session session({}, 1);
  const absl::Status cause = wire::MakeError(wire::ErrorKind::kSessionLost, "the first");
  session.MarkLost(cause);
  session.MarkLost(wire::MakeError(wire::ErrorKind::kSessionLost, "the second"));
  wire::SubPush sub_push;
  bool sent = false;
  EXPECT_EQ(session.Number({&sub_push}, [&] { sent = true; }), cause);
  EXPECT_FALSE(sent);
  EXPECT_EQ(sub_push.sequence, 0u);
}

// Another kind would say that the push is pending, or that it can be made again.
TEST(Session, IsLostAsSessionLostWhateverTheCause) {
  for (const auto kind : {wire::ErrorKind::kInvalidArgument, wire::ErrorKind::kStaleMap,
                          wire::ErrorKind::kUnimplemented, wire::ErrorKind::kUnavailable}) {
    Session session({}, 1);
    session.MarkLost(wire::ToStatus(
        {.kind = kind, .message = "shard 2 is another", .hint = "Look.", .shard = 2}));
    wire::SubPush sub_push;
    const ErrorDetails error = DescribeError(session.Number({&sub_push}, [] {}));
    EXPECT_EQ(error.kind, ErrorKind::kSessionLost);
    EXPECT_NE(error.message.find("shard 2 is another"), std::string::npos) << error.message;
    EXPECT_EQ(error.hint, "Look.");
    EXPECT_EQ(error.shard, 2);
  }
}

TEST(Session, SaysWhatIsPending) {
  Session session({}, 1);
  EXPECT_EQ(session.WaitUntilFinished(session.last_begun(), Now()), 0);
  const uint64_t first = session.Begin();
  const uint64_t second = session.Begin();
  EXPECT_EQ(session.WaitUntilFinished(second, Now() + milliseconds(1)), 2);
  EXPECT_EQ(session.WaitUntilFinished(first, Now() + milliseconds(1)), 1);
  session.Finished(second);
  EXPECT_EQ(session.WaitUntilFinished(second, Now() + milliseconds(1)), 1);
  session.Finished(first);
  EXPECT_EQ(session.WaitUntilFinished(second, Now()), 0);
}

TEST(Session, WhatBeginsLaterIsNotWaitedFor) {
  Session session({}, 1);
  const uint64_t first = session.Begin();
  const uint64_t last = session.last_begun();
  const uint64_t later = session.Begin();
  std::thread other([&] { session.Finished(first); });
  EXPECT_EQ(session.WaitUntilFinished(last, Now() + std::chrono::seconds(30)), 0);
  other.join();
  session.Finished(later);
}

}  // namespace
}  // namespace hotrow::client
