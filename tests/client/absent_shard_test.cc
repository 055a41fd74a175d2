// Control calls and scans wait for a shard that is away, as pulls and pushes do.

#include <chrono>
#include <functional>
#include <future>
#include <map>

#include "tests/client/local_servers.h"
#include "tests/slowdown.h"

namespace hotrow::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Call = std::function<absl::Status()>;

class AnAbsentShard : public ::testing::Test {
 protected:
  std::map<std::string, Call> CallsOf(const std::shared_ptr<Client>& client, const Table& table) {
    return {{"create", [=, this] { return client->CreateTable(schema_, true).status(); }},
            {"open", [=] { return client->OpenTable("rows").status(); }},
            {"list", [=] { return client->ListTables().status(); }},
            {"stats", [=] { return table.Stats().status(); }},
            {"scan", [=] { return table.Scan(100, false, [](auto, auto, auto) { return true; }); }},
            {"drop", [=] { return client->DropTable("rows").status(); }}};
  }

  const TableSchema schema_{.name = "rows", .dim = 1, .optimizer = Sgd{1.0F}};
  LocalServers servers_{2};
};

TEST_F(AnAbsentShard, EndsEachCallByTheTimeoutThatWasGiven) {
  const auto client = servers_.Connect({.timeout = kSlowdown * milliseconds(400)});
  const auto table = client->CreateTable(schema_);
  ASSERT_OK(table);
  servers_.Kill(0);
  for (const auto& [name, call] : CallsOf(client, *table)) {
    const auto start = Clock::now();
    const absl::Status status = call();
    EXPECT_EQ(KindOf(status), ErrorKind::kUnavailable) << name << ": " << status;
    EXPECT_EQ(DescribeError(status).shard, 0) << name;
    EXPECT_GE(Clock::now() - start, kSlowdown * milliseconds(390)) << name;
    EXPECT_LT(Clock::now() - start, milliseconds(10'000)) << name;
  }
}

TEST_F(AnAbsentShard, EndsLaterCallsAtOnceAfterRecoveryTimeout) {
  const auto client = servers_.Connect({.recovery_timeout = kSlowdown * milliseconds(600)});
  const auto table = client->CreateTable(schema_);
  ASSERT_OK(table);
  servers_.Kill(0);
  const absl::Status waited = table->Stats().status();
  EXPECT_EQ(KindOf(waited), ErrorKind::kUnavailable) << waited;
  EXPECT_NE(waited.message().find("recovery_timeout"), absl::string_view::npos) << waited;
  for (const auto& [name, call] : CallsOf(client, *table)) {
    const auto start = Clock::now();
    EXPECT_EQ(KindOf(call()), ErrorKind::kUnavailable) << name;
    EXPECT_LT(Clock::now() - start, milliseconds(3'000)) << name;
  }
}

TEST_F(AnAbsentShard, IsWaitedForUntilItIsThere) {
  const auto other = servers_.Connect({.job = "other"});
  servers_.Kill(1);
  // The shard that comes is another life of it: this client has pushed nothing, but its session is
  // lost. Questions are answered all the same.
  auto created =
      std::async(std::launch::async, [&] { return other->CreateTable(schema_, true).status(); });
  EXPECT_EQ(created.wait_for(milliseconds(300)), std::future_status::timeout);
  servers_.Start(1);
  EXPECT_OK(created.get());
  EXPECT_OK(servers_.Connect()->OpenTable("rows"));
}

TEST_F(AnAbsentShard, EndsAScanThatHasBegunAsAnErrorNeverAsATableThatIsShort) {
  const auto client = servers_.Connect({.timeout = milliseconds(5'000)});
  const auto table = client->CreateTable({.name = "wide", .dim = 64, .optimizer = Sgd{1.0F}});
  ASSERT_OK(table);
  std::vector<Key> keys(100'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ASSERT_OK(table->Upsert(keys, std::vector<float>(keys.size() * 64, 1.0F)));
  size_t seen = 0;
  const absl::Status scanned = table->Scan(100, false, [&](std::span<const Key> batch, auto, auto) {
    if (seen == 0) servers_.Kill(0);
    seen += batch.size();
    return true;
  });
  EXPECT_EQ(KindOf(scanned), ErrorKind::kUnavailable) << scanned;
  EXPECT_EQ(DescribeError(scanned).shard, 0);
  EXPECT_LT(seen, keys.size() / 2);
}

TEST_F(AnAbsentShard, IsNotWaitedForByATool) {
  const auto tool = servers_.Connect({.timeout = milliseconds(20'000), .access = Access::kInspect});
  ASSERT_OK(servers_.Connect()->CreateTable(schema_));
  ASSERT_OK(tool->OpenTable("rows"));
  servers_.Kill(1);
  const auto start = Clock::now();
  EXPECT_EQ(KindOf(tool->OpenTable("rows")), ErrorKind::kUnavailable);
  EXPECT_OK(tool->ListTables());
  EXPECT_LT(Clock::now() - start, milliseconds(10'000));
}

}  // namespace
}  // namespace hotrow::testing
