// Shards of several strands, with everything that a shard does going on at once: each test ends
// with a clean stop of every server, so that a report of a sanitizer in one of them is seen.

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "hotrow/pulled_batch.h"
#include "tests/client/local_servers.h"
#include "tests/client/tcp_proxy.h"

namespace hotrow::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A batch of all keys is more than a short request, one of a worker's step is not: parts of
// requests run on the strands' threads and on those that bring them.
constexpr int64_t kDim = 16;
constexpr Key kKeys = 2000;

// With rate 1 and gradient 1 each weight is minus the number of pushes that had its key.
TableSchema Counting(const std::string& name) {
  return {.name = name, .dim = kDim, .optimizer = Sgd{1.0F}};
}

class Strands : public ::testing::Test {
 protected:
  void TearDown() override {
    for (int shard = 0; shard < kShards; ++shard) EXPECT_EQ(servers_.Stop(shard), 0) << shard;
  }

  static constexpr int kShards = 2;
  LocalServers servers_{kShards, {"--strands=3", "--rpc-event-loops=2"}};
  const uint64_t seed_ = std::random_device{}();
};

// A row that is read while it is written would have weights of two pushes.
void ExpectWholeRows(std::span<const float> rows) {
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], rows[i - i % kDim]) << i;
}

void PushOnes(const Table& table, const std::vector<Key>& keys) {
  ASSERT_OK(table.Push(keys, std::vector<float>(keys.size() * kDim, 1.0F)));
}

std::vector<Key> AllKeys() {
  std::vector<Key> keys(kKeys);
  for (Key key = 0; key < kKeys; ++key) keys[key] = key;
  return keys;
}

// How often each of 0 .. kKeys-1 is in the batches that `worker` pushes.
std::vector<Key> BatchOf(uint64_t seed, int worker, int step) {
  return RandomKeys(300, kKeys, seed + static_cast<uint64_t>(worker * 1000 + step));
}

TEST_F(Strands, WorkersPushAndPullTheSameRowsOfTwoTables) {
  constexpr int kWorkers = 4;
  constexpr int kSteps = 40;
  std::printf("seed %lu\n", seed_);
  const auto main_client = servers_.Connect();
  const auto first = main_client->CreateTable(Counting("first"));
  const auto second = main_client->CreateTable(Counting("second"));
  ASSERT_OK(first);
  ASSERT_OK(second);
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      const auto client = servers_.Connect();
      const auto a = client->OpenTable("first");
      const auto b = client->OpenTable("second");
      ASSERT_OK(a);
      ASSERT_OK(b);
      for (int step = 0; step < kSteps; ++step) {
        const std::vector<Key> keys = BatchOf(seed_, worker, step);
        const std::vector<float> ones(keys.size() * kDim, 1.0F);
        const std::vector<TablePush> pushes = {{.table = &*a, .keys = keys, .gradients = ones},
                                               {.table = &*b, .keys = keys, .gradients = ones}};
        Future<PushCounts> pushed = client->PushTablesAsync(pushes);
        ExpectWholeRows(PullRows(*a, keys));
        EXPECT_OK(pushed.Wait(seconds(60)));
        ExpectWholeRows(PullRows(*b, keys));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::vector<float> expected(kKeys * kDim, 0.0F);
  for (int worker = 0; worker < kWorkers; ++worker) {
    for (int step = 0; step < kSteps; ++step) {
      for (const Key key : BatchOf(seed_, worker, step)) {
        for (int64_t c = 0; c < kDim; ++c) expected[key * kDim + c] -= 1.0F;
      }
    }
  }
  EXPECT_EQ(PullRows(*first, AllKeys()), expected);
  EXPECT_EQ(PullRows(*second, AllKeys()), expected);
}

TEST_F(Strands, TablesAreScannedMadeAndDroppedWhilePushesGoOn) {
  const auto client = servers_.Connect();
  const auto table = client->CreateTable(Counting("scanned"));
  ASSERT_OK(table);
  PushOnes(*table, AllKeys());  // stored before the scans, so that each of them has every key
  std::atomic<bool> done = false;
  std::atomic<int> pushes = 1;
  std::thread pusher([&] {
    while (!done) {
      PushOnes(*table, AllKeys());
      ++pushes;
    }
  });
  std::thread maker([&] {
    for (int i = 0; !done; ++i) {
      const std::string name = "short_lived_" + std::to_string(i);
      const auto made = client->CreateTable(Counting(name));
      ASSERT_OK(made);
      PushOnes(*made, AllKeys());
      EXPECT_EQ(*client->DropTable(name), kKeys);
    }
  });
  std::thread asker([&] {
    while (!done) {
      for (const ShardStatus& shard : client->Status()) EXPECT_OK(shard.status);
      EXPECT_OK(table->Size());
    }
  });
  for (int scan = 0; scan < 20; ++scan) {
    std::set<Key> seen;
    size_t rows_seen = 0;
    EXPECT_OK(table->Scan(100, false, [&](auto keys, auto rows, auto) {
      seen.insert(keys.begin(), keys.end());
      rows_seen += keys.size();
      ExpectWholeRows(rows);
      return true;
    }));
    EXPECT_EQ(seen.size(), kKeys);
    EXPECT_EQ(rows_seen, kKeys);
  }
  done = true;
  pusher.join();
  maker.join();
  asker.join();
  EXPECT_EQ(PullRows(*table, AllKeys()),
            std::vector<float>(kKeys * kDim, -static_cast<float>(pushes)));
}

TEST_F(Strands, BrokenConnectionsAndMissedDeadlinesLoseNothing) {
  std::printf("seed %lu\n", seed_);
  std::vector<std::unique_ptr<TcpProxy>> proxies;
  ConnectOptions options{.addresses = {servers_.addresses()[0]}, .timeout = seconds(60)};
  for (const std::string& address : servers_.addresses()) {
    proxies.push_back(std::make_unique<TcpProxy>(std::stoi(address.substr(address.find(':') + 1))));
    options.address_map[address] = proxies.back()->address();
  }
  const auto client = servers_.Connect(options);
  const auto table = client->CreateTable(Counting("broken"));
  ASSERT_OK(table);
  RandomCutter cutter(proxies, seed_, 400000);
  constexpr int kPushes = 40;
  int missed = 0;
  std::vector<float> rows(kKeys * kDim);
  for (int i = 0; i < kPushes; ++i) {
    // Too short for most: the push stays pending, the pull is given up.
    const auto pushed = table->Push(AllKeys(), std::vector<float>(kKeys * kDim, 1.0F),
                                    {.timeout = milliseconds(i % 2 == 0 ? 1 : 60000)});
    if (!pushed.ok()) {
      EXPECT_EQ(KindOf(pushed), ErrorKind::kDeadlineExceeded);
      ++missed;
    }
    const absl::Status pulled = table->Pull(AllKeys(), rows, {.timeout = milliseconds(2)});
    if (pulled.ok()) ExpectWholeRows(rows);
  }
  cutter.Stop();
  EXPECT_OK(client->Flush());
  EXPECT_GT(cutter.cuts(), 0);
  EXPECT_GT(missed, 0);
  EXPECT_EQ(PullRows(*table, AllKeys()), std::vector<float>(kKeys * kDim, -kPushes));
}

}  // namespace
}  // namespace hotrow::testing
