// Sessions: idempotent opening, fencing, ends that are remembered, and the bound.

#include <gtest/gtest.h>

#include "proto/wire/status_codec.h"
#include "server/shard/push_window.h"
#include "server/shard/session_table.h"
#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

using wire::ErrorKind;
using wire::Outcome;

const SessionTable::TimePoint kStart{std::chrono::hours(1)};

// An own clock: what passes is what a test says.
struct Sessions {
  explicit Sessions(int64_t max_sessions = 4, int64_t that_fit = INT64_MAX)
      : table({max_sessions, std::chrono::hours(1), that_fit}) {}

  ErrorKind Open(uint64_t client, uint64_t restart_count = 0) {
    ended.clear();
    return KindOf(table.Open(SessionRequest(client, restart_count), now, &ended));
  }
  static uint64_t Id(uint64_t client, uint64_t restart_count = 0) {
    return SessionRequest(client, restart_count).session();
  }

  SessionTable table;
  SessionTable::TimePoint now = kStart;
  std::vector<uint64_t> ended;
};

TEST(SessionTable, OpensTheSameSessionAnyNumberOfTimes) {
  Sessions sessions;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sessions.Open(1), ErrorKind::kNone);
  EXPECT_EQ(sessions.table.size(), 1);
  EXPECT_TRUE(sessions.ended.empty());
  EXPECT_TRUE(sessions.table.Use(Sessions::Id(1), kStart).ok());
}

TEST(SessionTable, FencesTheOlderLifeOfAClient) {
  Sessions sessions;
  sessions.Open(1, 4);
  EXPECT_EQ(sessions.Open(1, 5), ErrorKind::kNone);
  EXPECT_EQ(sessions.ended, std::vector<uint64_t>{Sessions::Id(1, 4)});
  EXPECT_EQ(sessions.table.size(), 1);
  EXPECT_EQ(sessions.table.Use(Sessions::Id(1, 4), kStart).kind, ErrorKind::kSessionLost);
  EXPECT_EQ(sessions.Open(1, 4), ErrorKind::kSessionLost);
  EXPECT_EQ(sessions.Open(1, 3), ErrorKind::kSessionLost) << "an older life that comes late";
  EXPECT_TRUE(sessions.table.Use(Sessions::Id(1, 5), kStart).ok());
}

TEST(SessionTable, RemembersAClosedSession) {
  Sessions sessions;
  sessions.Open(1);
  EXPECT_TRUE(sessions.table.Close(Sessions::Id(1)).ok());
  EXPECT_TRUE(sessions.table.Close(Sessions::Id(1)).ok()) << "closing is idempotent";
  EXPECT_EQ(sessions.table.Use(Sessions::Id(1), kStart).kind, ErrorKind::kSessionLost);
  EXPECT_EQ(sessions.Open(1), ErrorKind::kSessionLost) << "a late OpenSession";
  EXPECT_EQ(sessions.Open(1, 1), ErrorKind::kNone);
  EXPECT_EQ(KindOf(sessions.table.Close(99)), ErrorKind::kSessionLost);
}

TEST(SessionTable, EndsTheIdlestSessionOnlyWhenItsPlaceIsNeeded) {
  Sessions sessions(2);
  sessions.Open(1);
  sessions.now += std::chrono::minutes(1);
  sessions.Open(2);
  EXPECT_EQ(sessions.Open(3), ErrorKind::kOverloaded);
  sessions.now = kStart + SessionTable::kIdleLimit;
  sessions.table.Use(Sessions::Id(1), sessions.now);
  EXPECT_EQ(sessions.Open(3), ErrorKind::kOverloaded) << "session 2 is idle for 14 minutes";
  sessions.now += std::chrono::minutes(1);
  EXPECT_EQ(sessions.Open(3), ErrorKind::kNone);
  EXPECT_EQ(sessions.ended, std::vector<uint64_t>{Sessions::Id(2)});
  EXPECT_EQ(sessions.table.Use(Sessions::Id(2), sessions.now).kind, ErrorKind::kSessionLost);
  EXPECT_TRUE(sessions.table.Use(Sessions::Id(1), sessions.now).ok());
}

TEST(SessionTable, EndsSessionsThatAreIdleTooLongWhenAnotherOneOpens) {
  Sessions sessions;
  sessions.Open(1);
  sessions.Open(2);
  sessions.now += std::chrono::minutes(59);
  EXPECT_TRUE(sessions.table.Use(Sessions::Id(2), sessions.now).ok());
  sessions.Open(3);
  EXPECT_TRUE(sessions.ended.empty()) << "59 minutes are not an hour";
  sessions.now += std::chrono::minutes(1);
  sessions.Open(4);
  EXPECT_EQ(sessions.ended, std::vector<uint64_t>{Sessions::Id(1)});
  EXPECT_EQ(sessions.table.expired(), 1U);
  EXPECT_EQ(sessions.table.size(), 3);
  EXPECT_EQ(sessions.table.Use(Sessions::Id(1), sessions.now).kind, ErrorKind::kSessionLost);
  EXPECT_EQ(sessions.Open(1), ErrorKind::kSessionLost) << "it is not revived with empty windows";
  EXPECT_TRUE(sessions.table.Use(Sessions::Id(2), sessions.now).ok());
}

TEST(SessionTable, TakesAsManyAsTheirAnswersHaveRoomForAndEndsIdleOnesFirst) {
  Sessions sessions(4, 2);
  EXPECT_EQ(sessions.table.limit(), 2);
  sessions.Open(1);
  sessions.Open(2);
  std::vector<uint64_t> ended;
  const absl::Status third = sessions.table.Open(SessionRequest(3), sessions.now, &ended);
  const wire::ErrorInfo error = wire::FromStatus(third);
  EXPECT_EQ(error.kind, ErrorKind::kOverloaded);
  EXPECT_NE(error.message.find("no room to keep the answers"), std::string::npos);
  EXPECT_NE(error.hint.find("partitions"), std::string::npos);
  sessions.now += SessionTable::kIdleLimit;
  sessions.table.Use(Sessions::Id(2), sessions.now);
  EXPECT_EQ(sessions.Open(3), ErrorKind::kNone);
  EXPECT_EQ(sessions.ended, std::vector<uint64_t>{Sessions::Id(1)});
}

TEST(SessionTable, RefusesMalformedRequests) {
  Sessions sessions;
  const auto kind = [&](auto change) {
    v1::OpenSessionRequest request = SessionRequest(1);
    change(&request);
    return KindOf(sessions.table.Open(request, kStart, &sessions.ended));
  };
  EXPECT_EQ(kind([](auto* r) { r->set_client_uid("short"); }), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind([](auto* r) { r->set_session(r->session() + 1); }), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind([](auto* r) { r->set_job(std::string(129, 'j')); }), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind([](auto* r) { r->set_rank(1); }), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind([](auto* r) { r->set_max_steps_ahead(1); }), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind([](auto* r) { r->set_mode(v1::STEP_MODE_SYNC); }), ErrorKind::kUnimplemented);
  EXPECT_EQ(kind([](auto* r) { r->set_mode(v1::STEP_MODE_BOUNDED); }), ErrorKind::kUnimplemented);
  EXPECT_EQ(sessions.table.size(), 0);
}

TEST(OpenSession, RefusesAClientWhoseAnswersWouldHaveNoRoom) {
  const auto shard = MakeShard({.partitions = 1024, .max_sessions = 4096});
  const auto limit = static_cast<int64_t>(shard->GetStats("")->max_sessions());
  EXPECT_EQ(limit, SessionsWhoseRingsFit(1024));
  ASSERT_LT(limit, 100);
  for (int64_t client = 1; client <= limit; ++client) {
    EXPECT_TRUE(shard->OpenSession(SessionRequest(client)).ok());
  }
  const auto refused = shard->OpenSession(SessionRequest(limit + 1));
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kOverloaded) << refused.status();
  EXPECT_TRUE(shard->CloseSession(SessionRequest(1).session()).ok());
  EXPECT_TRUE(shard->OpenSession(SessionRequest(limit + 1)).ok());
}

TEST(OpenSession, CountsWhatItsAnswersTakeAndGivesItBack) {
  OneTable one(SgdSchema("t", 2));
  EXPECT_EQ(one.shard().GetStats("")->kept_answer_bytes(), 0U);
  one.Send(one.Push(3, 1, one.Keys(3, 2)));
  EXPECT_GT(one.shard().GetStats("")->kept_answer_bytes(), 0U);
  EXPECT_TRUE(one.shard().CloseSession(one.session()).ok());
  EXPECT_EQ(one.shard().GetStats("")->kept_answer_bytes(), 0U);
}

TEST(OpenSession, TellsTheMapTheEpochsAndTheNextSequences) {
  OneTable one(SgdSchema("t", 2), {.shards = 2});
  one.Send(one.Push(3, 1, one.Keys(3, 2)));
  one.Send(one.Push(3, 2, one.Keys(3, 2)));
  one.Send(one.Push(31, 1, one.Keys(31, 2)));
  const auto response = one.shard().OpenSession(SessionRequest(1));
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->server_start_id(), one.shard().server_start_id());
  EXPECT_EQ(response->shard_map().partitions(), 64U);
  ASSERT_EQ(response->shard_map().owner_epochs_size(), 64);
  EXPECT_EQ(response->shard_map().owner_epochs(31), one.shard().server_start_id());
  EXPECT_EQ(response->shard_map().owner_epochs(32), 0U);
  ASSERT_EQ(response->next_sequences_size(), 2);
  EXPECT_EQ(response->next_sequences(0).partition(), 3U);
  EXPECT_EQ(response->next_sequences(0).sequence(), 3U);
  EXPECT_EQ(response->next_sequences(1).partition(), 31U);
  EXPECT_EQ(response->next_sequences(1).sequence(), 2U);
}

TEST(OpenSession, GivesAFencedClientAFreshStreamAndRefusesItsOldOne) {
  OneTable one(SgdSchema("t", 2));
  const auto push = one.Push(3, 1, one.Keys(3, 2));
  one.Send(push);
  const auto newer = one.shard().OpenSession(SessionRequest(1, 1));
  ASSERT_TRUE(newer.ok());
  EXPECT_EQ(newer->next_sequences_size(), 0);
  const auto late = PushNow(one.shard(), Message(one.session(), {one.Push(3, 2, one.Keys(3, 2))}));
  EXPECT_EQ(late.error.kind, ErrorKind::kSessionLost);
  const auto fresh = PushNow(one.shard(), Message(newer->session(), {push}));
  EXPECT_EQ(fresh.results[0].outcome, Outcome::kApplied);
  EXPECT_FALSE(fresh.results[0].duplicate);
  EXPECT_EQ(fresh.results[0].applied_lsn, 2U) << "LSNs belong to the partition";
}

TEST(CloseSession, RefusesLaterPushes) {
  OneTable one(SgdSchema("t", 2));
  EXPECT_EQ(one.shard().GetStats("")->sessions(), 1U);
  EXPECT_TRUE(one.shard().CloseSession(one.session()).ok());
  EXPECT_EQ(one.shard().GetStats("")->sessions(), 0U);
  const auto late = PushNow(one.shard(), Message(one.session(), {one.Push(3, 1, one.Keys(3, 2))}));
  EXPECT_EQ(late.error.kind, ErrorKind::kSessionLost);
}

TEST(TwoSessions, NumberTheirPushesApart) {
  OneTable one(SgdSchema("t", 2));
  const auto other = one.shard().OpenSession(SessionRequest(2))->session();
  const auto push = one.Push(3, 1, {one.Keys(3, 1)});
  one.Send(push);
  const auto response = PushNow(one.shard(), Message(other, {push}));
  EXPECT_FALSE(response.results[0].duplicate);
  EXPECT_EQ(response.results[0].counts[0].rows_updated, 1U);
}

}  // namespace
}  // namespace hotrow::test
