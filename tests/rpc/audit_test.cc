// What the log says of calls that change the service, and of clients that are faulty.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/ops/log_sink.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

// The log of this process for as long as it lives.
class CapturedLog {
 public:
  explicit CapturedLog(const std::string& logger) {
    sink_ = std::make_shared<LogSink>(LogSink::Options{
        .format = LogFormat::kJson, .shard = 0, .write = [this](const std::string& line) {
          lines_.push_back(line);
        }});
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(logger, sink_));
  }
  ~CapturedLog() { spdlog::set_default_logger(former_); }

  // Those of a method. Lines are written before their call is answered.
  std::vector<nlohmann::json> Of(const std::string& rpc) const {
    std::vector<nlohmann::json> found;
    for (const std::string& line : lines_) {
      nlohmann::json entry = nlohmann::json::parse(line);
      if (entry.value("rpc", "") == rpc) found.push_back(std::move(entry));
    }
    return found;
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const std::shared_ptr<spdlog::logger> former_ = spdlog::default_logger();
  std::vector<std::string> lines_;
  std::shared_ptr<LogSink> sink_;
};

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";

grpc::Status Drop(TestClient& client, const std::string& table) {
  grpc::ClientContext context;
  SetDeadline(context);
  context.AddMetadata("traceparent", std::string("00-") + kTrace + "-b7ad6b7169203331-01");
  v1::DropTableRequest request;
  request.set_name(table);
  v1::DropTableResponse response;
  return client.admin().DropTable(&context, request, &response);
}

void ExpectSaid(const nlohmann::json& line, const std::string& table, const std::string& code) {
  EXPECT_EQ(line["table"], table) << line;
  EXPECT_EQ(line["code"], code) << line;
  EXPECT_EQ(line["peer"].get<std::string>().rfind("ipv4:127.0.0.1:", 0), 0u) << line;
}

TEST(Audit, MakingAndDroppingATableAreLinesWithWhoAndWhatCameOfIt) {
  TestServer server;
  TestClient client = server.Client();
  CapturedLog log(kUnlimitedLogger);
  client.CreateTable("t", 4);
  EXPECT_TRUE(Drop(client, "t").ok());
  EXPECT_FALSE(Drop(client, "t").ok());
  const auto drops = log.Of("DropTable");
  ASSERT_EQ(drops.size(), 2u);
  ExpectSaid(drops[0], "t", "OK");
  ExpectSaid(drops[1], "t", "NOT_FOUND");
  EXPECT_EQ(drops[0]["trace_id"], kTrace);
  const auto made = log.Of("CreateTable");
  ASSERT_EQ(made.size(), 1u);
  ExpectSaid(made[0], "t", "OK");
  EXPECT_FALSE(made[0].contains("trace_id"));
}

TEST(Audit, ARefusedCallIsALineAndNoneIsLeftOutInAFlood) {
  constexpr int kCalls = 60;  // more than one place in the code may write
  TestServer server({.admin_listen = "127.0.0.1:0"});
  TestClient client = server.Client();
  CapturedLog log(kUnlimitedLogger);
  for (int i = 0; i < kCalls; ++i) Drop(client, std::string(1000, 'x'));
  const auto drops = log.Of("DropTable");
  ASSERT_EQ(drops.size(), static_cast<size_t>(kCalls));
  for (const nlohmann::json& line : drops) {
    ExpectSaid(line, std::string(256, 'x'), "PERMISSION_DENIED");
    EXPECT_FALSE(line.contains("left_out"));
  }
}

TEST(Audit, ADrainAndADeclaredMethodAreLines) {
  TestServer server;
  TestClient client = server.Client();
  CapturedLog log(kUnlimitedLogger);
  grpc::ClientContext restore;
  SetDeadline(restore);
  v1::RestoreResponse restored;
  EXPECT_FALSE(client.admin().Restore(&restore, {}, &restored).ok());
  grpc::ClientContext drain;
  SetDeadline(drain);
  v1::DrainResponse drained;
  EXPECT_TRUE(client.admin().Drain(&drain, {}, &drained).ok());
  ASSERT_EQ(log.Of("Restore").size(), 1u);
  EXPECT_EQ(log.Of("Restore")[0]["code"], "UNIMPLEMENTED");
  ASSERT_EQ(log.Of("Drain").size(), 1u);
  EXPECT_EQ(log.Of("Drain")[0]["code"], "OK");
  EXPECT_FALSE(log.Of("Drain")[0].contains("table"));
}

TEST(Alarms, OtherBytesUnderAUsedNumberAndDamageNameSessionAndPartition) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", 2);
  const uint64_t session = client.OpenSession("0123456789abcdef");
  PushMaker maker(session);
  PushMaker again(session);  // numbers from 1, too
  client.Push(maker.Make({table, "t", 2}, {1}, {1, 1}));
  CapturedLog log("hotrow");
  client.Push(again.Make({table, "t", 2}, {1}, {2, 2}));
  v1::PushRequest damaged = maker.Make({table, "t", 2}, {1}, {1, 1});
  damaged.mutable_sub_pushes(0)->set_content_hash(damaged.sub_pushes(0).content_hash() ^ 1);
  client.Push(damaged);
  ASSERT_EQ(log.lines().size(), 2u);
  const uint32_t partition = damaged.sub_pushes(0).partition();
  for (const std::string& line : log.lines()) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    EXPECT_EQ(entry["level"], "warning");
    const std::string text = entry["msg"];
    EXPECT_NE(text.find(fmt::format("{:016x}", session)), std::string::npos) << text;
    EXPECT_NE(text.find(fmt::format("partition {}", partition)), std::string::npos) << text;
  }
  EXPECT_EQ(server.shard->counters().content_conflicts.value(), 1u);
  EXPECT_EQ(server.shard->counters().damaged_sub_pushes.value(), 1u);
}

TEST(Overload, ASessionThatFindsNoPlaceIsCounted) {
  TestServer server({}, std::chrono::milliseconds(0), 1);
  TestClient client = server.Client();
  client.OpenSession("0123456789abcdef");
  EXPECT_EQ(server.metrics.overloads(), 0u);
  v1::OpenSessionResponse response;
  const grpc::Status refused = client.TryOpenSession("another client!!", &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server.metrics.overloads(), 1u);
}

}  // namespace
}  // namespace hotrow::testing
