// Shards that are away: what waits for them, for how long, and what it is told.

#include <gtest/gtest.h>

#include "tests/client/local_servers.h"
#include "tests/client/tcp_proxy.h"

namespace hotrow::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kRecovery{400};

bool Says(const absl::Status& status, const std::string& words) {
  return std::string(status.message()).find(words) != std::string::npos;
}

// A client of two shards, of which the second can be cut off.
class Outage : public ::testing::Test {
 protected:
  void Connect(milliseconds timeout, milliseconds recovery_timeout) {
    client_ = servers_.Connect({.addresses = {servers_.addresses()[0]},
                                .address_map = {{address(), proxy_.address()}},
                                .timeout = timeout,
                                .recovery_timeout = recovery_timeout});
    auto table = client_->CreateTable({.name = "t", .dim = 1, .optimizer = Sgd{1.0F}});
    ASSERT_OK(table);
    table_ = std::make_unique<Table>(*std::move(table));
    for (Key key = 0; here_.size() < 10 || away_.size() < 10; ++key) {
      const bool second = MixKeyOfTable(key, "t") >> 63 != 0;
      (second ? away_ : here_).push_back(key);
    }
    ASSERT_OK(Push(away_));
  }
  const std::string& address() const { return servers_.addresses()[1]; }
  absl::Status Push(const std::vector<Key>& keys) {
    return table_->Push(keys, std::vector<float>(keys.size(), 1.0F)).status();
  }
  absl::Status Pull(const std::vector<Key>& keys, PullOptions options = {}) {
    std::vector<float> rows(keys.size());
    return table_->Pull(keys, rows, options);
  }
  void CutOff() { proxy_.Refuse(true); }
  void ComeBack() { proxy_.Refuse(false); }

  LocalServers servers_{2};
  TcpProxy proxy_{std::stoi(address().substr(address().find(':') + 1))};
  std::shared_ptr<Client> client_;
  std::unique_ptr<Table> table_;
  std::vector<Key> here_;  // keys of shard 0
  std::vector<Key> away_;  // keys of shard 1
};

TEST_F(Outage, PullsWaitForRecoveryTimeoutAndSayWhatIsAway) {
  Connect(seconds(60), kRecovery);
  CutOff();
  const auto began = Clock::now();
  const absl::Status pulled = Pull(away_);
  EXPECT_EQ(KindOf(pulled), ErrorKind::kUnavailable) << pulled;
  EXPECT_GE(Clock::now() - began, milliseconds(200));
  EXPECT_LT(Clock::now() - began, seconds(20));
  EXPECT_EQ(DescribeError(pulled).shard, 1);
  EXPECT_TRUE(Says(pulled, address()) && Says(pulled, "recovery_timeout")) << pulled;
  EXPECT_FALSE(DescribeError(pulled).hint.empty());
  const auto later = Clock::now();
  EXPECT_EQ(KindOf(Pull(away_)), ErrorKind::kUnavailable);
  EXPECT_LT(Clock::now() - later, kRecovery) << "what comes later fails at once";
  EXPECT_OK(Pull(here_));
  EXPECT_OK(Push(here_));
  ComeBack();
  const auto limit = Clock::now() + seconds(20);
  while (!Pull(away_).ok() && Clock::now() < limit) {
  }
  EXPECT_OK(Pull(away_));  // the client goes on trying to connect
}

TEST_F(Outage, APushThatWaitsTooLongStaysPendingAndIsAppliedOnce) {
  Connect(seconds(60), kRecovery);
  CutOff();
  const absl::Status pushed = Push(away_);
  EXPECT_EQ(KindOf(pushed), ErrorKind::kUnavailable) << pushed;
  EXPECT_EQ(DescribeError(pushed).shard, 1);
  EXPECT_TRUE(Says(pushed, address()) && Says(pushed, "still pending")) << pushed;
  EXPECT_NE(DescribeError(pushed).hint.find("flush"), std::string::npos);
  const absl::Status flushed = client_->Flush();
  EXPECT_EQ(KindOf(flushed), ErrorKind::kUnavailable) << flushed;
  EXPECT_TRUE(Says(flushed, "1 pushes are still pending") && Says(flushed, address())) << flushed;
  EXPECT_OK(Push(here_));
  ComeBack();
  const auto limit = Clock::now() + seconds(20);
  while (!client_->Flush().ok() && Clock::now() < limit) {
  }
  EXPECT_EQ(PullRows(*table_, away_), std::vector<float>(away_.size(), -2.0F));
}

TEST_F(Outage, CallsWaitUntilTheShardServesAgain) {
  Connect(seconds(60), seconds(60));
  CutOff();
  const std::vector<float> ones(away_.size(), 1.0F);
  auto push = table_->PushAsync(away_, ones);
  auto pull = table_->PullBatchAsync(away_, std::nullopt);
  EXPECT_FALSE(push.TryWait(milliseconds(100)).has_value());
  EXPECT_FALSE(pull.TryWait(milliseconds(100)).has_value());
  ComeBack();
  EXPECT_OK(push.Wait(seconds(30)));
  EXPECT_OK(pull.Wait(seconds(30)));
  EXPECT_EQ(PullRows(*table_, away_), std::vector<float>(away_.size(), -2.0F));
}

TEST_F(Outage, ACallsOwnTimeoutEndsItEarlier) {
  Connect(seconds(60), seconds(60));
  CutOff();
  const auto began = Clock::now();
  const absl::Status pulled = Pull(away_, {.timeout = milliseconds(200)});
  EXPECT_EQ(KindOf(pulled), ErrorKind::kUnavailable);
  EXPECT_TRUE(Says(pulled, "within the deadline")) << pulled;
  const auto pushed =
      table_->Push(away_, std::vector<float>(away_.size()), {.timeout = milliseconds(200)});
  EXPECT_EQ(KindOf(pushed), ErrorKind::kDeadlineExceeded) << pushed.status();
  EXPECT_LT(Clock::now() - began, seconds(20));
  ComeBack();
  EXPECT_OK(client_->Flush(seconds(30)));
}

TEST(ConnectOptionsTest, RefuseARecoveryTimeoutThatIsNotPositive) {
  const auto client =
      Client::Connect({.addresses = {"127.0.0.1:1"}, .recovery_timeout = milliseconds(0)});
  EXPECT_EQ(KindOf(client), ErrorKind::kInvalidArgument) << client.status();
}

}  // namespace
}  // namespace hotrow::testing
