#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/client/local_servers.h"
#include "tests/client/tcp_proxy.h"
#include "tests/slowdown.h"

namespace hotrow::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

TableSchema Counting(const char* name, int64_t dim = 1) {
  return {.name = name, .dim = dim, .optimizer = Sgd{1.0F}};
}

// SGD with rate 1 and gradient 1: a weight is minus the number of pushes that were applied.
TEST(Faults, PushesThroughConnectionsThatAreCutAreAppliedExactlyOnce) {
  LocalServers servers(2);
  std::vector<std::unique_ptr<TcpProxy>> proxies;
  ConnectOptions options{.addresses = {servers.addresses()[0]}, .timeout = seconds(60)};
  for (const std::string& address : servers.addresses()) {
    const int port = std::stoi(address.substr(address.find(':') + 1));
    proxies.push_back(std::make_unique<TcpProxy>(port));
    options.address_map[address] = proxies.back()->address();
  }
  const auto client = servers.Connect(options);
  const auto table = client->CreateTable(Counting("cut", 16));
  ASSERT_OK(table);
  std::vector<Key> keys(4000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> ones(keys.size() * 16, 1.0F);

  const uint64_t seed = std::random_device{}();
  std::printf("seed %lu\n", seed);
  RandomCutter cutter(proxies, seed, 600000);
  constexpr int kPushes = 60;
  for (int i = 0; i < kPushes; ++i) EXPECT_OK(table->Push(keys, ones));
  cutter.Stop();
  EXPECT_OK(client->Flush());
  EXPECT_GT(cutter.cuts(), 10);
  const std::vector<float> rows = PullRows(*table, keys);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], -kPushes) << i;
  uint64_t duplicates = 0;
  for (const ShardStatus& shard : client->Status()) duplicates += shard.sub_pushes_duplicate;
  std::printf("%d cuts, %lu sub-pushes came twice\n", cutter.cuts(), duplicates);
}

TEST(Faults, AConnectionThatSwallowsEverythingIsMadeAnew) {
  LocalServers servers(1);
  const std::string& address = servers.addresses()[0];
  TcpProxy proxy(std::stoi(address.substr(address.find(':') + 1)));
  const auto client = servers.Connect({.addresses = {address},
                                       .address_map = {{address, proxy.address()}},
                                       .timeout = seconds(60),
                                       .keepalive = seconds(1)});
  const auto table = client->CreateTable(Counting("swallowed"));
  ASSERT_OK(table);
  const std::vector<Key> keys = {1, 2, 3};
  const std::vector<float> ones(keys.size(), 1.0F);
  EXPECT_OK(table->Push(keys, ones));
  proxy.SwallowAll();
  const auto began = Clock::now();
  EXPECT_OK(table->Push(keys, ones));
  EXPECT_LT(Clock::now() - began, seconds(20));
  for (const float weight : PullRows(*table, keys)) EXPECT_EQ(weight, -2.0F);
}

TEST(Faults, APushToAStoppedShardStaysPendingAndFlushWaitsForIt) {
  LocalServers servers(2);
  const auto client = servers.Connect();
  const auto table = client->CreateTable(Counting("stopped"));
  ASSERT_OK(table);
  std::vector<Key> keys(100);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> ones(keys.size(), 1.0F);
  servers.Signal(1, SIGSTOP);
  const auto began = Clock::now();
  const auto pushed = table->Push(keys, ones, {.timeout = milliseconds(300)});
  EXPECT_EQ(KindOf(pushed), ErrorKind::kDeadlineExceeded);
  EXPECT_NE(pushed.status().message().find("still pending"), absl::string_view::npos);
  EXPECT_EQ(KindOf(client->Flush(milliseconds(100))), ErrorKind::kDeadlineExceeded);
  std::vector<float> rows(keys.size());
  const absl::Status pulled = table->Pull(keys, rows, {.timeout = milliseconds(200)});
  EXPECT_EQ(KindOf(pulled), ErrorKind::kDeadlineExceeded);
  EXPECT_EQ(DescribeError(pulled).shard, 1);
  EXPECT_LT(Clock::now() - began, seconds(5));
  servers.Signal(1, SIGCONT);
  ASSERT_OK(client->Flush());
  EXPECT_EQ(PullRows(*table, keys), std::vector<float>(keys.size(), -1.0F));
}

TEST(Faults, ARestartedShardIsASessionLostNeverInitialValues) {
  LocalServers servers(2);
  const auto client = servers.Connect();
  const auto table = client->CreateTable(Counting("lost"));
  ASSERT_OK(table);
  std::vector<Key> keys(100);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  std::vector<float> ones(keys.size(), 1.0F);
  ASSERT_OK(table->Push(keys, ones));
  servers.Kill(1);
  const absl::Status down = table->Pull(keys, ones, {.timeout = milliseconds(300)});
  EXPECT_EQ(KindOf(down), ErrorKind::kUnavailable) << down;
  EXPECT_EQ(DescribeError(down).shard, 1);
  EXPECT_NE(down.message().find(servers.addresses()[1]), absl::string_view::npos);
  const std::vector<ShardStatus> shards = client->Status();
  EXPECT_OK(shards[0].status);
  EXPECT_EQ(KindOf(shards[1].status), ErrorKind::kUnavailable);

  servers.Start(1);
  const absl::Status pulled = table->Pull(keys, ones);
  EXPECT_EQ(KindOf(pulled), ErrorKind::kSessionLost) << pulled;
  EXPECT_EQ(KindOf(table->Push(keys, ones)), ErrorKind::kSessionLost);
  EXPECT_EQ(ones, std::vector<float>(keys.size(), 1.0F));  // nothing was written
  (void)client->Close();
  // A new client does not make the missing part anew, but the table, when it says so.
  const auto later = servers.Connect();
  EXPECT_EQ(KindOf(later->CreateTable(Counting("lost"), true)), ErrorKind::kDataLoss);
  ASSERT_OK(later->DropTable("lost"));
  const auto again = later->CreateTable(Counting("lost"), true);
  ASSERT_OK(again);
  EXPECT_OK(again->Push(keys, ones));
}

TEST(Faults, NobodyAtTheAddressIsSaidInTimeAndByName) {
  const std::string dead = "127.0.0.1:" + std::to_string(FreePort());
  const auto began = Clock::now();
  const auto client = Client::Connect({.addresses = {dead}, .timeout = milliseconds(300)});
  EXPECT_EQ(KindOf(client), ErrorKind::kUnavailable);
  EXPECT_NE(client.status().message().find(dead), absl::string_view::npos);
  EXPECT_LT(Clock::now() - began, seconds(3));
  EXPECT_EQ(KindOf(Client::Connect({})), ErrorKind::kInvalidArgument);
}

TEST(Faults, AMissingShardFailsConnectByNameButNotInspection) {
  LocalServers servers(2);
  servers.Kill(1);
  ConnectOptions options{.addresses = {servers.addresses()[0]},
                         .timeout = kSlowdown * milliseconds(500)};
  const auto client = Client::Connect(options);
  EXPECT_EQ(KindOf(client), ErrorKind::kUnavailable);
  EXPECT_EQ(DescribeError(client.status()).shard, 1);
  options.access = Access::kInspect;
  const auto inspector = Client::Connect(options);
  ASSERT_OK(inspector);
  EXPECT_EQ((*inspector)->Status().size(), 2u);
}

TEST(Faults, AnotherShardAtTheAddressIsNoticed) {
  LocalServers servers(2);
  ConnectOptions options{.addresses = {servers.addresses()[0]}};
  options.address_map[servers.addresses()[1]] = servers.addresses()[0];
  const auto client = Client::Connect(options);
  EXPECT_EQ(KindOf(client), ErrorKind::kInvalidArgument) << client.status();
}

// With pushes always under way a moment without any may never come: a flush waits for those that
// were made before it.
TEST(Lifecycle, AFlushBesideThreadsThatPushWaitsForWhatWasPushedBefore) {
  LocalServers servers(2);
  const auto client = servers.Connect();
  const auto table = client->CreateTable(Counting("flushed"));
  ASSERT_OK(table);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (Key key = 0; key < 2; ++key) {
    others.emplace_back([&, key] {
      while (!stop) EXPECT_OK(table->Push(std::vector<Key>{key}, std::vector<float>{1}));
    });
  }
  for (int i = 0; i < 500; ++i) {
    auto mine = table->PushAsync(std::vector<Key>{7}, std::vector<float>{1});
    ASSERT_OK(client->Flush());
    ASSERT_TRUE(mine.ready());
    ASSERT_OK(mine.Wait(milliseconds(0)));
  }
  stop = true;
  for (std::thread& other : others) other.join();
}

TEST(Lifecycle, CloseFlushesAndLaterCallsSayThatItIsClosed) {
  LocalServers servers(2);
  const auto client = servers.Connect();
  const auto table = client->CreateTable(Counting("closed"));
  ASSERT_OK(table);
  std::vector<Future<PushCounts>> pushes;
  for (Key key = 0; key < 50; ++key) {
    pushes.push_back(table->PushAsync(std::vector<Key>{key}, std::vector<float>{1}));
  }
  ASSERT_OK(client->Close());
  for (Future<PushCounts>& push : pushes) {
    EXPECT_TRUE(push.ready());
    EXPECT_OK(push.Wait(milliseconds(0)));
  }
  EXPECT_OK(client->Close());
  std::vector<float> row(1);
  EXPECT_EQ(KindOf(table->Pull(std::vector<Key>{1}, row)), ErrorKind::kClosed);
  EXPECT_EQ(KindOf(table->Push(std::vector<Key>{1}, row)), ErrorKind::kClosed);
  EXPECT_EQ(KindOf(client->Flush()), ErrorKind::kClosed);
  EXPECT_EQ(KindOf(client->OpenTable("closed")), ErrorKind::kClosed);
  EXPECT_EQ(KindOf(client->Status()[0].status), ErrorKind::kClosed);
  EXPECT_EQ(*servers.Connect()->OpenTable("closed")->Size(), 50);
}

TEST(Lifecycle, AForkedChildGetsAnErrorThatNamesFork) {
  LocalServers servers(1);
  auto client = servers.Connect();
  auto table = client->CreateTable(Counting("fork"));
  ASSERT_OK(table);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang is a failure
    std::vector<float> row(1);
    bool good = true;
    const auto forked = [](const absl::Status& status) {
      return DescribeError(status).kind == ErrorKind::kForkedProcess &&
             status.message().find("fork") != absl::string_view::npos;
    };
    good &= forked(table->Pull(std::vector<Key>{1}, row));
    good &= forked(table->Push(std::vector<Key>{1}, row).status());
    good &= forked(client->Flush());
    good &= forked(client->Close());
    client = nullptr;
    table = absl::UnknownError("gone");
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_OK(table->Push(std::vector<Key>{1}, std::vector<float>{1}));  // the parent goes on
}

TEST(Lifecycle, ThreadsThatShareAClientLoseNoUpdate) {
  LocalServers servers(2);
  const auto client = servers.Connect();
  const auto table =
      client->CreateTable({.name = "shared", .dim = 1, .optimizer = Sgd{.lr = 0.001F}});
  ASSERT_OK(table);
  constexpr int kThreads = 4;
  constexpr int kPushes = 250;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Key> keys = {42, Key{100} + t};
      std::vector<float> rows(2);
      for (int i = 0; i < kPushes; ++i) {
        EXPECT_OK(table->Push(keys, std::vector<float>{1, 1}));
        EXPECT_OK(table->Pull(keys, rows));
        EXPECT_LT(rows[1], -0.0005F * (i + 1));  // reads its own writes
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  float expected = 0.0F;
  for (int i = 0; i < kThreads * kPushes; ++i) expected -= 0.001F * 1.0F;
  EXPECT_EQ(PullRows(*table, {42})[0], expected);
}

TEST(Lifecycle, ASmallBudgetOfBytesInFlightDelaysAndDoesNotBlock) {
  LocalServers servers(2);
  const auto client = servers.Connect({.max_in_flight_bytes = 10000});
  const auto table = client->CreateTable(Counting("budget", 8));
  ASSERT_OK(table);
  std::vector<Future<PushCounts>> pushes;
  for (Key key = 0; key < 300; ++key) {
    const std::vector<Key> keys(1, key);
    pushes.push_back(table->PushAsync(keys, std::vector<float>(8, 1.0F)));
  }
  const std::vector<Key> many = RandomKeys(20000, 0, 5);  // far above the budget, alone it passes
  EXPECT_OK(table->Push(many, std::vector<float>(many.size() * 8, 1.0F)));
  for (auto& push : pushes) EXPECT_OK(push.Wait(seconds(30)));
  EXPECT_EQ(*table->Size(), 20300);
}

TEST(Connect, RefusesAddressesWithoutAPort) {
  for (const char* address :
       {"127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70700", "unix:", "host:http"}) {
    const auto client = Client::Connect({.addresses = {address}});
    EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_NE(client.status().message().find(address), absl::string_view::npos) << client.status();
  }
}

TEST(Connect, RefusesMoreAddressesThanTheClusterHasShards) {
  LocalServers one(1);
  LocalServers other(1);
  const auto client = Client::Connect(
      {.addresses = {one.addresses()[0], other.addresses()[0]}, .timeout = seconds(20)});
  EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(client.status().message().find(other.addresses()[0]), absl::string_view::npos)
      << client.status();
}

}  // namespace
}  // namespace hotrow::testing
