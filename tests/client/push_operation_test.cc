#include "client/src/push_operation.h"

#include "absl/strings/str_cat.h"
#include "client/src/request_queue.h"
#include "proto/wire/status_codec.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

using client::PushOperation;
using client::ShardRequest;

// A push whose messages go nowhere: the test answers them.
class Push {
 public:
  explicit Push(client::Session& session, int tables = 1, std::vector<Key> keys = {1, 2, 3}) {
    auto map = *wire::ShardMap::Static({"somewhere"}, 1);
    std::vector<PushOperation::TablePart> parts;
    for (int t = 0; t < tables; ++t) {
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
    started =
        operation->Start([this](const absl::StatusOr<PushCounts>& answer) { result = answer; });
  }
  bool done() const { return result.status().code() != absl::StatusCode::kUnknown; }

  // Answers message 0, which has one sub-push.
  std::optional<client::Again> Answer(wire::SubPushResult answer) {
    answer.sequence = 1;
    wire::PushResponse response;
    response.results = {std::move(answer)};
    return messages[0]->OnReply(std::move(response), 1);
  }

  std::vector<std::shared_ptr<ShardRequest>> messages;
  absl::Status started;
  absl::StatusOr<PushCounts> result;  // Unknown until done
};

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

TEST(PushOperation, WaitingForAShardIsNotBounded) {
  client::Session session({}, 1);
  Push push(session);
  const wire::SubPushResult answer = Retry(wire::ErrorKind::kOverloaded, "busy");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(push.Answer(answer).has_value());
  EXPECT_OK(session.lost());
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
  Push push(session, 1500, {42});
  EXPECT_OK(push.started);
  EXPECT_EQ(push.messages.size(), 2u);
  for (const auto& message : push.messages) {
    const auto request = wire::DecodePushRequest(message->Encode(1));
    ASSERT_OK(request);
    EXPECT_LE(request->sub_pushes.size(), static_cast<size_t>(client::kMaxSubPushesOfPartition));
  }
}

}  // namespace
}  // namespace hotrow::testing
