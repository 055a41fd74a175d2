#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <sys/wait.h>

#include "hotrow/v1/parameter_service.grpc.pb.h"
#include "tests/client/local_servers.h"
#include "tests/slowdown.h"

namespace hotrow::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool Contains(const absl::Status& status, const std::string& words) {
  return std::string(status.message()).find(words) != std::string::npos;
}

class Restarts : public ::testing::Test {
 protected:
  void Push(const Table& table) {
    ASSERT_OK(table.Push(keys_, std::vector<float>(keys_.size(), 1.0F)));
  }

  const TableSchema schema_{.name = "rows", .dim = 1, .optimizer = Sgd{1.0F}};
  const std::vector<Key> keys_ = RandomKeys(200, 0, 11);
  LocalServers servers_{3};
};

#ifdef HOTROWCTL_PROGRAM
class Hotrowctl : public Restarts {
 protected:
  int Run(const std::string& arguments) {
    const std::string command = std::string(HOTROWCTL_PROGRAM) + " --address " +
                                servers_.addresses()[0] + " " + arguments + " > /dev/null 2>&1";
    return WEXITSTATUS(std::system(command.c_str()));
  }
  void Restart(int shard) {
    servers_.Kill(shard);
    servers_.Start(shard);
  }

  static constexpr int kNotFound = 3;
};

TEST_F(Hotrowctl, SaysThatATableIsMissingAndMakesNone) {
  ASSERT_OK(servers_.Connect()->CreateTable(schema_));
  EXPECT_EQ(Run("get rows 1 2 3"), 0);
  Restart(2);
  EXPECT_EQ(Run("get rows 1 2 3"), kNotFound);
  EXPECT_EQ(Run("stats rows"), kNotFound);
  EXPECT_EQ(Run("tables"), 0);
  EXPECT_EQ(KindOf(servers_.Connect()->OpenTable("rows")), ErrorKind::kNotFound);
}

TEST_F(Hotrowctl, RefusesToReadATableThatAShardHasLostAndDropsWhatIsLeft) {
  for (const int shard : {2, 0}) {  // shard 0 says what tables there are
    const auto table = servers_.Connect()->CreateTable(schema_);
    ASSERT_OK(table);
    Push(*table);
    Restart(shard);
    EXPECT_NE(Run("get rows 1 2 3"), 0);
    EXPECT_EQ(KindOf(servers_.Connect()->OpenTable("rows")), ErrorKind::kDataLoss);
    EXPECT_EQ(Run("drop rows --yes"), 0);
    EXPECT_EQ(Run("drop rows --yes"), kNotFound);
    EXPECT_EQ(KindOf(servers_.Connect()->OpenTable("rows")), ErrorKind::kNotFound);
  }
}
#endif

TEST_F(Restarts, APullOfADroppedTableNamesTableAndShard) {
  const auto table = servers_.Connect()->CreateTable(schema_);
  ASSERT_OK(table);
  ASSERT_OK(servers_.Connect()->DropTable("rows"));
  std::vector<float> rows(keys_.size());
  const absl::Status pulled = table->Pull(keys_, rows);
  ASSERT_EQ(KindOf(pulled), ErrorKind::kNotFound) << pulled;
  EXPECT_EQ(DescribeError(pulled).table, "rows");
  EXPECT_EQ(DescribeError(pulled).shard, 0);
  EXPECT_TRUE(Contains(pulled, "'rows'") && Contains(pulled, servers_.addresses()[0])) << pulled;
}

TEST_F(Restarts, APushThatIsStillPendingSaysWhatItWaitsFor) {
  const auto client = servers_.Connect({.timeout = kSlowdown * milliseconds(400)});
  const auto table = client->CreateTable(schema_);
  ASSERT_OK(table);
  Push(*table);
  servers_.Kill(1);
  const auto pushed = table->Push(keys_, std::vector<float>(keys_.size(), 1.0F));
  ASSERT_EQ(KindOf(pushed), ErrorKind::kDeadlineExceeded);
  EXPECT_TRUE(Contains(pushed.status(), "shard 1 at " + servers_.addresses()[1]))
      << pushed.status();
  EXPECT_EQ(DescribeError(pushed.status()).shard, 1);
}

TEST_F(Restarts, CloseSaysHowManyPushesItGivesUp) {
  const auto client = servers_.Connect({.timeout = kSlowdown * milliseconds(400)});
  const auto table = client->CreateTable(schema_);
  ASSERT_OK(table);
  servers_.Signal(1, SIGSTOP);
  const std::vector<float> ones(keys_.size(), 1.0F);
  std::vector<Future<PushCounts>> pushes;
  for (int i = 0; i < 3; ++i) pushes.push_back(table->PushAsync(keys_, ones));
  const absl::Status closed = client->Close();
  EXPECT_EQ(KindOf(closed), ErrorKind::kSessionLost) << closed;
  EXPECT_TRUE(Contains(closed, "3 pushes") && Contains(closed, "unknown")) << closed;
  EXPECT_TRUE(Contains(closed, "shard 1 at " + servers_.addresses()[1])) << closed;
  EXPECT_EQ(DescribeError(closed).shard, 1);
  EXPECT_NE(DescribeError(closed).hint.find("A new client"), std::string::npos);
  for (auto& push : pushes) EXPECT_EQ(push.Wait(milliseconds(0)).status(), closed);
  servers_.Signal(1, SIGCONT);
}

TEST(Connecting, AShardOfAnotherClusterIsRefused) {
  LocalServers servers(2);
  LocalServers others(2);
  ConnectOptions options{.addresses = {servers.addresses()[0]}};
  options.address_map[servers.addresses()[1]] = others.addresses()[1];
  const auto client = Client::Connect(options);
  EXPECT_EQ(KindOf(client), ErrorKind::kInvalidArgument)
      << "nothing that passes: " << client.status();
  EXPECT_FALSE(DescribeError(client.status()).hint.empty());
  EXPECT_EQ(DescribeError(client.status()).shard, 1);
}

TEST(Connecting, AnAddressThatIsNoShardDoesNotHideTheOthers) {
  v1::ParameterService::Service not_a_shard;  // a gRPC server that knows no shard map
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&not_a_shard);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::string wrong = "127.0.0.1:" + std::to_string(port);
  const auto alone = Client::Connect({.addresses = {wrong}});
  EXPECT_EQ(KindOf(alone), ErrorKind::kUnimplemented) << alone.status();
  LocalServers servers(2);
  EXPECT_OK(Client::Connect({.addresses = {wrong, servers.addresses()[0]}}));
}

}  // namespace
}  // namespace hotrow::testing
