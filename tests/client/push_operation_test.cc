#include "client/src/push_operation.h"

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "client/src/request_queue.h"
#include "client/src/shard_channel.h"
#include "proto/wire/status_codec.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

using client::PushOperation;
using client::ShardRequest;

// A push whose messages go nowhere: the test answers them.
class Push {
 public:
  struct Shape {
    int tables = 1;
    std::vector<Key> keys = {1, 2, 3};
    uint32_t partitions = 1;
    std::vector<std::string> shards = {"somewhere"};
  };

  explicit Push(client::Session& session) : Push(session, Shape()) {}
  Push(client::Session& session, const Shape& shape) {
    auto map = *wire::ShardMap::Static(shape.shards, shape.partitions);
    const std::vector<Key>& keys = shape.keys;
    std::vector<PushOperation::TablePart> parts;
    for (int t = 0; t < shape.tables; ++t) {
      TableInfo info;
      info.table_id = static_cast<uint32_t>(t + 1);
      info.schema = {.name = absl::StrCat("t", t), .dim = 1, .optimizer = Sgd{1.0F}};
      auto table = std::make_shared<TableState>(info);
      const std::vector<float> rows(keys.size(), 1.0F);
      client::BatchWorkspace workspace;
      auto payload =
          client::BuildPushPayload({.table = table, .keys = keys, .rows = rows}, map, workspace);
      EXPECT_OK(payload);
      parts.push_back({.state = table, .payload = *std::move(payload)});
    }
    auto operation = std::make_shared<PushOperation>(
        PushOperation::Environment{.map = std::make_shared<const wire::ShardMap>(map),
                                   .session = &session,
                                   .enqueue =
                                       [this](uint32_t, std::shared_ptr<ShardRequest> message) {
                                         messages.push_back(message);
                                       }},
        std::move(parts));
    operation_ = operation;
    started =
        operation->Start([this](const absl::StatusOr<PushCounts>& answer) { result = answer; });
  }
  bool done() const { return result.status().code() != absl::StatusCode::kUnknown; }

  // Answers message 0, which has one sub-push.
  std::optional<client::Again> Answer(wire::SubPushResult answer) {
    answer.sequence = 1;
    return AnswerAll(0, {std::move(answer)});
  }
  std::optional<client::Again> AnswerAll(size_t message, std::vector<wire::SubPushResult> results) {
    wire::PushResponse response;
    response.results = std::move(results);
    return messages[message]->OnReply(std::move(response), 1);
  }
  wire::PushRequest Sent(size_t message, uint64_t request_id = 1) const {
    auto request = wire::DecodePushRequest(messages[message]->Encode(request_id));
    EXPECT_OK(request);
    return *std::move(request);
  }
  std::vector<uint32_t> open_shards() const { return operation_->open_shards(); }

  std::vector<std::shared_ptr<ShardRequest>> messages;
  absl::Status started;
  absl::StatusOr<PushCounts> result;  // Unknown until done

 private:
  std::shared_ptr<PushOperation> operation_;
};

wire::SubPushResult Applied(uint32_t partition = 0) {
  wire::SubPushResult answer;
  answer.partition = partition;
  answer.sequence = 1;
  answer.outcome = wire::Outcome::kApplied;
  return answer;
}

wire::SubPushResult Retry(wire::ErrorKind kind, const std::string& why) {
  wire::SubPushResult answer;
  answer.outcome = wire::Outcome::kRetry;
  answer.error = {.kind = kind, .message = why};
  return answer;
}

TEST(PushOperation, RefusedRowsOfARetriedPushAreReportedWithoutTheirKeys) {
  client::Session session({}, 1);
  Push push(session);
  wire::SubPushResult answer;
  answer.outcome = wire::Outcome::kApplied;
  answer.duplicate = true;
  answer.counts = {{.table_id = 1, .rows_updated = 1, .rows_created = 1, .rows_refused = 2}};
  EXPECT_FALSE(push.Answer(answer).has_value());
  ASSERT_EQ(KindOf(push.result), ErrorKind::kCapacityFull) << push.result.status();
  const ErrorDetails details = DescribeError(push.result.status());
  EXPECT_EQ(details.table, "t0");
  EXPECT_EQ(details.shard, 0);
  EXPECT_NE(details.message.find("2 new keys"), std::string::npos) << details.message;
  EXPECT_NE(details.hint.find("Only 0"), std::string::npos) << details.hint;
  EXPECT_TRUE(RefusedKeys(push.result.status()).empty());
}

TEST(PushOperation, ARefusalThatNeverEndsEndsTheSession) {
  for (const wire::ErrorKind kind : {wire::ErrorKind::kDataLoss, wire::ErrorKind::kNone}) {
    client::Session session({}, 1);
    Push push(session);
    const wire::SubPushResult answer = Retry(kind, "the hash differs");
    for (int i = 1; i < client::kMaxDamagedPushes; ++i) {
      EXPECT_TRUE(push.Answer(answer).has_value()) << i;
    }
    EXPECT_FALSE(push.done());
    EXPECT_FALSE(push.Answer(answer).has_value());
    EXPECT_EQ(KindOf(push.result), ErrorKind::kSessionLost);
    EXPECT_EQ(KindOf(session.lost()), ErrorKind::kSessionLost);
    const bool reason =
        push.result.status().message().find("the hash differs") != std::string::npos;
    EXPECT_EQ(reason, kind == wire::ErrorKind::kDataLoss);
  }
}

// 300 tables make two sub-pushes of the one partition: the second is out of order behind the first,
// which is no reason to send the first for ever.
TEST(PushOperation, TheGravestReasonOfSeveralDecides) {
  for (const wire::ErrorKind kind : {wire::ErrorKind::kDataLoss, wire::ErrorKind::kStaleMap}) {
    client::Session session({}, 1);
    Push push(session, {.tables = 300, .keys = {42}});
    ASSERT_EQ(push.messages.size(), 1U);
    wire::SubPushResult first = Retry(kind, "the reason");
    first.sequence = 1;
    wire::SubPushResult second = Retry(wire::ErrorKind::kOutOfOrder, "1 is missing");
    second.sequence = 2;
    int sent = 1;
    while (push.AnswerAll(0, {first, second}).has_value() && sent <= 100) ++sent;
    EXPECT_EQ(sent, kind == wire::ErrorKind::kDataLoss ? client::kMaxDamagedPushes : 1);
    EXPECT_EQ(KindOf(session.lost()), ErrorKind::kSessionLost);
    EXPECT_NE(push.result.status().message().find("the reason"), std::string::npos);
  }
}

// Ownership moves only to another set of servers, whose shard map no session of the former one has:
// what is fenced once is fenced for ever.
TEST(PushOperation, AFenceEndsTheSession) {
  client::Session session({}, 1);
  Push push(session);
  EXPECT_FALSE(push.Answer(Retry(wire::ErrorKind::kStaleMap, "another map")).has_value());
  EXPECT_EQ(KindOf(push.result), ErrorKind::kSessionLost);
  EXPECT_NE(push.result.status().message().find("another map"), std::string::npos);
}

TEST(PushOperation, WaitingForAShardIsNotBounded) {
  client::Session session({}, 1);
  Push push(session);
  const wire::SubPushResult answer = Retry(wire::ErrorKind::kOverloaded, "busy");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(push.Answer(answer).has_value());
  EXPECT_OK(session.lost());
}

// Closed, as any other kind of what was not sent, would let its caller make it again.
TEST(PushOperation, ANumberedPushThatIsGivenUpIsSessionLost) {
  for (const absl::Status& cause :
       {client::ClosedError(), client::InvalidInput("", "another shard is there")}) {
    client::Session session({}, 1);
    Push push(session);
    push.messages[0]->OnFailure(cause);
    ASSERT_EQ(KindOf(push.result), ErrorKind::kSessionLost) << push.result.status();
    EXPECT_NE(push.result.status().message().find(cause.message()), absl::string_view::npos);
    EXPECT_EQ(KindOf(session.lost()), ErrorKind::kSessionLost);
  }
}

TEST(PushOperation, WhatWaitsBehindALostNumberFailsWithItsCause) {
  client::Session session({}, 1);
  Push push(session);
  session.MarkLost(wire::MakeError(wire::ErrorKind::kSessionLost, "an earlier push failed"));
  EXPECT_FALSE(push.Answer(Retry(wire::ErrorKind::kOutOfOrder, "1 is missing")).has_value());
  EXPECT_EQ(push.result.status(), session.lost());
}

TEST(PushOperation, AMessageHasFewSubPushesOfOnePartition) {
  // 256 tables fit one sub-push: 1500 tables make six of the one partition.
  client::Session session({}, 1);
  Push push(session, {.tables = 1500, .keys = {42}});
  EXPECT_OK(push.started);
  EXPECT_EQ(push.messages.size(), 2u);
  for (const auto& message : push.messages) {
    const auto request = wire::DecodePushRequest(message->Encode(1));
    ASSERT_OK(request);
    EXPECT_LE(request->sub_pushes.size(), static_cast<size_t>(client::kMaxSubPushesOfPartition));
  }
}

TEST(PushOperation, WhatIsSentAgainHasTheSameNumbersAndBytes) {
  client::Session session({}, 4);
  Push push(session, {.tables = 2, .keys = RandomKeys(50, 0, 3), .partitions = 4});
  ASSERT_EQ(push.messages.size(), 1u);
  const wire::PushRequest first = push.Sent(0, 7);
  const wire::PushRequest again = push.Sent(0, 8);
  ASSERT_EQ(first.sub_pushes.size(), 4u);
  EXPECT_EQ(first.payload.Hash(), again.payload.Hash());
  for (size_t i = 0; i < first.sub_pushes.size(); ++i) {
    EXPECT_EQ(first.sub_pushes[i].sequence, 1u);
    EXPECT_EQ(first.sub_pushes[i].sequence, again.sub_pushes[i].sequence);
    EXPECT_EQ(first.sub_pushes[i].content_hash, again.sub_pushes[i].content_hash);
  }
}

TEST(PushOperation, OnlyWhatIsOpenIsSentAgain) {
  client::Session session({}, 2);
  Push push(session, {.keys = RandomKeys(50, 0, 3), .partitions = 2});
  wire::SubPushResult early = Retry(wire::ErrorKind::kOutOfOrder, "1 is missing");
  early.partition = 1;
  early.sequence = 1;
  ASSERT_TRUE(push.AnswerAll(0, {Applied(0), early}).has_value());
  const wire::PushRequest again = push.Sent(0);
  ASSERT_EQ(again.sub_pushes.size(), 1u);
  EXPECT_EQ(again.sub_pushes[0].partition, 1u);
  EXPECT_FALSE(push.done());
  EXPECT_FALSE(push.AnswerAll(0, {Applied(1)}).has_value());
  EXPECT_OK(push.result);
}

TEST(PushOperation, CapacityFullIsRaisedOnceAllIsAcknowledgedAndNeverRetried) {
  client::Session session({}, 2);
  Push push(session,
            {.keys = RandomKeys(50, 0, 3), .partitions = 2, .shards = {"first", "second"}});
  ASSERT_EQ(push.messages.size(), 2u);
  EXPECT_EQ(push.open_shards(), (std::vector<uint32_t>{0, 1}));
  wire::SubPushResult full = Applied(0);
  full.counts = {{.table_id = 1, .rows_updated = 1, .rows_refused = 1}};
  full.error = {.kind = wire::ErrorKind::kCapacityFull, .message = "no room"};
  full.refused_keys = {42};
  EXPECT_FALSE(push.AnswerAll(0, {full}).has_value());
  EXPECT_FALSE(push.done()) << "the other shard has not answered";
  EXPECT_EQ(push.open_shards(), std::vector<uint32_t>{1});
  EXPECT_FALSE(push.AnswerAll(1, {Applied(1)}).has_value());
  ASSERT_EQ(KindOf(push.result), ErrorKind::kCapacityFull) << push.result.status();
  EXPECT_EQ(RefusedKeys(push.result.status()), std::vector<Key>{42});
  EXPECT_OK(session.lost());
}

TEST(PushOperation, AnUnknownSessionIsTheEndOfItAndNothingIsNumberedAnew) {
  client::Session session({}, 1);
  Push push(session);
  wire::PushResponse response;
  response.error = {.kind = wire::ErrorKind::kSessionLost, .message = "never opened here"};
  EXPECT_FALSE(push.messages[0]->OnReply(std::move(response), 1).has_value());
  EXPECT_EQ(KindOf(push.result), ErrorKind::kSessionLost);
  EXPECT_EQ(KindOf(session.lost()), ErrorKind::kSessionLost);
  Push next(session);
  EXPECT_EQ(KindOf(next.started), ErrorKind::kSessionLost);
  EXPECT_TRUE(next.messages.empty());
}

TEST(PushOperation, ARefusalForGoodIsTheAnswerAndTheSessionGoesOn) {
  client::Session session({}, 1);
  Push push(session);
  wire::SubPushResult refused;
  refused.outcome = wire::Outcome::kRefused;
  refused.error = {.kind = wire::ErrorKind::kSchemaMismatch, .message = "another dim"};
  EXPECT_FALSE(push.Answer(refused).has_value());
  EXPECT_EQ(KindOf(push.result), ErrorKind::kSchemaMismatch);
  EXPECT_OK(session.lost());
}

TEST(PushOperation, WantOfRoomIsNamedBeforeWhatFollowsFromIt) {
  client::Session session({}, 2);
  Push push(session, {.keys = RandomKeys(50, 0, 3), .partitions = 2});
  wire::SubPushResult full = Retry(wire::ErrorKind::kOverloaded, "no room");
  full.sequence = 1;
  wire::SubPushResult behind = Retry(wire::ErrorKind::kOutOfOrder, "behind");
  behind.partition = 1;
  behind.sequence = 1;
  const auto again = push.AnswerAll(0, {full, behind});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->why.kind, wire::ErrorKind::kOverloaded);
}

TEST(Channels, LeaveRetriesToTheNumbersOfPushes) {
  const grpc::ChannelArguments arguments = client::ChannelArgumentsFor(std::chrono::seconds(10));
  const grpc_channel_args all = arguments.c_channel_args();
  int retries = -1;
  for (size_t i = 0; i < all.num_args; ++i) {
    if (std::string(all.args[i].key) == GRPC_ARG_ENABLE_RETRIES)
      retries = all.args[i].value.integer;
  }
  EXPECT_EQ(retries, 0) << "gRPC's own retry ends at a buffer of 256 KiB and counts nothing";
}

}  // namespace
}  // namespace hotrow::testing
