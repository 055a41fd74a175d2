// The slow-call log, from real calls to the admin method that shows it.
#include <gtest/gtest.h>

#include <numeric>

#include "server/ops/slow_log.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

SlowCall CallOf(uint64_t request_id) {
  return {.request_id = request_id, .duration = milliseconds(5)};
}

v1::GetSlowCallsResponse Ask(TestClient& client, uint32_t limit) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetSlowCallsRequest request;
  request.set_limit(limit);
  v1::GetSlowCallsResponse response;
  const grpc::Status status = client.admin().GetSlowCalls(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

// Pulls, with a traceparent, until one of them took the millisecond that makes it slow.
v1::SlowCall PullUntilSlow(TestServer& server, TestClient& client, uint32_t table,
                           const std::string& trace_parent) {
  const std::vector<uint64_t> keys(8000, 5);
  for (uint64_t id = 1; server.metrics.slow_log().Newest(1).empty() && id < 10'000; ++id) {
    grpc::ClientContext context;
    SetDeadline(context);
    context.AddMetadata("traceparent", trace_parent);
    auto stream = client.parameters().Pull(&context);
    v1::PullResponse response;
    EXPECT_TRUE(stream->Write(PullOf(id, table, keys)));
    stream->WritesDone();
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_TRUE(stream->Finish().ok());
  }
  const v1::GetSlowCallsResponse slow = Ask(client, 0);
  EXPECT_EQ(slow.threshold_ms(), 1u);
  EXPECT_GT(slow.calls_size(), 0) << "no pull took a millisecond";
  return slow.calls_size() == 0 ? v1::SlowCall() : slow.calls(0);
}

TEST(SlowLog, KeepsTheNewestCalls) {
  SlowLog log(milliseconds(1));
  for (uint64_t id = 1; id <= SlowLog::kKept + 10; ++id) log.Add(CallOf(id));
  const std::vector<SlowCall> all = log.Newest(1000);
  ASSERT_EQ(all.size(), SlowLog::kKept);
  EXPECT_EQ(all.front().request_id, SlowLog::kKept + 10);
  EXPECT_EQ(all.back().request_id, 11u);
  EXPECT_EQ(log.Newest(3).size(), 3u);
  EXPECT_EQ(log.Newest(0).size(), 0u);
}

TEST(SlowLog, TheThresholdIsSlowAndZeroTurnsItOff) {
  const SlowLog log(milliseconds(250));
  EXPECT_FALSE(log.IsSlow(milliseconds(250) - nanoseconds(1)));
  EXPECT_TRUE(log.IsSlow(milliseconds(250)));
  EXPECT_FALSE(SlowLog(milliseconds(0)).IsSlow(std::chrono::hours(1)));
}

TEST(SlowCalls, ShowWhoAskedForWhatAndWhereTheTimeWent) {
  TestServer server({}, milliseconds(1));
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", 120);
  const std::string trace(32, 'a');
  const v1::SlowCall call =
      PullUntilSlow(server, client, table, "00-" + trace + "-b7ad6b7169203331-01");
  EXPECT_EQ(call.method(), "Pull");
  EXPECT_EQ(call.code(), "OK");
  EXPECT_GT(call.request_id(), 0u);
  EXPECT_EQ(call.keys(), 8000u);
  EXPECT_GT(call.received_bytes(), 8000u * 8);
  EXPECT_GT(call.sent_bytes(), 8000u * 64 * 4);
  EXPECT_EQ(call.peer().rfind("ipv4:127.0.0.1", 0), 0u) << call.peer();
  EXPECT_EQ(call.trace_id(), trace);
  EXPECT_GE(call.duration_us(), 1000u);
  ASSERT_EQ(call.stages_size(), static_cast<int>(kStageCount));
  uint64_t sum = 0;
  for (const v1::StageTime& stage : call.stages()) sum += stage.duration_us();
  // Each is cut to a microsecond.
  EXPECT_LE(sum, call.duration_us());
  EXPECT_GE(sum + kStageCount, call.duration_us());
}

TEST(SlowCalls, AMalformedTraceParentIsNotRepeated) {
  TestServer server({}, milliseconds(1));
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", 120);
  const v1::SlowCall call = PullUntilSlow(server, client, table, "00-forged-line-01");
  EXPECT_EQ(call.keys(), 8000u) << "there is one";
  EXPECT_EQ(call.trace_id(), "");
}

TEST(SlowCalls, NothingIsSlowUnlessAThresholdIsSet) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", 120);
  for (int i = 0; i < 20; ++i) client.Pull(table, std::vector<uint64_t>(8000, 5));
  const v1::GetSlowCallsResponse slow = Ask(client, 0);
  EXPECT_EQ(slow.calls_size(), 0);
  EXPECT_EQ(slow.threshold_ms(), 0u);
}

TEST(Stages, OfARequestAreItsWholeDuration) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", 8);
  PushMaker maker(client.OpenSession("0123456789abcdef"));
  const std::vector<uint64_t> keys = {1, 2, 3};
  client.Push(maker.Make({table, "t", 8}, keys, std::vector<float>(24, 0.5F)));
  for (int i = 0; i < 10; ++i) client.Pull(table, keys);
  client.Pull(table + 1, keys);  // refused before any strand: in the durations only
  for (const auto& [method, requests] : {std::pair(Method::kPull, 10u), {Method::kPush, 1u}}) {
    const StageTotals stages = server.metrics.Stages(method);
    uint64_t sum = 0;
    for (const DurationHistogram::Totals& stage : stages.stages) {
      EXPECT_EQ(std::accumulate(stage.counts.begin(), stage.counts.end(), uint64_t{0}), requests);
      sum += stage.sum;
    }
    const MethodTotals totals = server.metrics.Totals(method);
    if (method == Method::kPush) EXPECT_EQ(sum, totals.durations.sum);
    EXPECT_LE(sum, totals.durations.sum);
  }
  EXPECT_EQ(server.metrics.Stages(Method::kPull).keys.sum, 33u);
  EXPECT_EQ(server.metrics.Stages(Method::kPush).keys.sum, 3u);
}

}  // namespace
}  // namespace hotrow::testing
