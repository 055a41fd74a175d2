// A shard that refuses for want of room: how often it is asked again, and that nothing is lost.

#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "client/src/retry_budget.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

using client::RetryBudget;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr int kClients = 6;
constexpr int kPushes = 400;  // of each
constexpr size_t kUnderWay = 16;

uint64_t PushRequests(const LocalServers& servers) {
  uint64_t requests = 0;
  for (const ShardStatus& shard : servers.Connect()->Status()) requests += shard.push_requests;
  return requests;
}

TEST(Overload, RetriesStayWithinTheirBudgetAndNoPushIsLost) {
  // One request at a time over several loops: clients that push at once meet a full queue.
  LocalServers servers(1, {"--queue-max-requests=1", "--rpc-event-loops=4", "--strands=1"});
  std::vector<Key> keys(512);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> ones(keys.size() * 16, 1.0F);
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<Table> tables;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(servers.Connect({.timeout = seconds(200)}));
    auto table =
        clients.back()->CreateTable({.name = "t", .dim = 16, .optimizer = Sgd{1.0F}}, true);
    ASSERT_OK(table);
    tables.push_back(*std::move(table));
  }
  const auto began = Clock::now();
  std::vector<std::thread> threads;
  for (const Table& table : tables) {
    threads.emplace_back([&] {
      std::deque<Future<PushCounts>> under_way;
      for (int i = 0; i < kPushes; ++i) {
        if (under_way.size() >= kUnderWay) {
          EXPECT_OK(under_way.front().Wait(seconds(200)));
          under_way.pop_front();
        }
        under_way.push_back(table.PushAsync(keys, ones));
      }
      for (Future<PushCounts>& push : under_way) EXPECT_OK(push.Wait(seconds(200)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  constexpr int kCalls = kClients * kPushes;
  const auto retries = static_cast<double>(PushRequests(servers)) - kCalls;
  std::printf("%d pushes at %.0f a second, %.0f retries (%.1f %%)\n", kCalls, kCalls / took,
              retries, 100.0 * retries / kCalls);
  EXPECT_GT(retries, 0) << "the shard was not overloaded";
  EXPECT_LE(retries, RetryBudget::kShare * kCalls +
                         kClients * (RetryBudget::kMost + RetryBudget::kPerSecond * took));
  EXPECT_EQ(PullRows(tables[0], keys),
            std::vector<float>(keys.size() * 16, -static_cast<float>(kCalls)));
}

}  // namespace
}  // namespace hotrow::testing
