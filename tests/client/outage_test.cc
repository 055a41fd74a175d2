// Shards that are away: what waits for them, for how long, and what it is told.

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <future>

#include "hotrow/v1/admin_service.grpc.pb.h"
#include "tests/client/local_servers.h"
#include "tests/client/tcp_proxy.h"
#include "tests/slowdown.h"

namespace hotrow::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kRecovery{400};
constexpr char kIsItThere[] = "Check that hotrow-server runs there";

bool Says(const absl::Status& status, const std::string& words) {
  return std::string(status.message()).find(words) != std::string::npos;
}

bool Suggests(const absl::Status& status, const std::string& words) {
  return DescribeError(status).hint.find(words) != std::string::npos;
}

// That the error is about shard 1, and names it once.
void ExpectOfShard1(const absl::Status& status, const std::string& address) {
  const ErrorDetails error = DescribeError(status);
  EXPECT_EQ(error.shard, 1);
  const std::string name = "shard 1 at " + address;
  const size_t at = error.message.find(name);
  ASSERT_NE(at, std::string::npos) << error.message;
  EXPECT_EQ(error.message.find(name, at + 1), std::string::npos) << error.message;
  ASSERT_FALSE(error.hint.empty());
  EXPECT_NE(error.hint.back(), ' ');
}

// A client of two shards, of which the second can be cut off.
class Outage : public ::testing::Test {
 protected:
  void Connect(milliseconds timeout, milliseconds recovery_timeout) {
    ConnectWith({.timeout = timeout, .recovery_timeout = recovery_timeout});
  }
  void ConnectWith(ConnectOptions options) {
    options.addresses = {servers_.addresses()[0]};
    options.address_map = {{address(), proxy_.address()}};
    client_ = servers_.Connect(options);
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
  void Drain() {
    const auto stub = v1::AdminService::NewStub(
        grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::DrainResponse response;
    ASSERT_TRUE(stub->Drain(&context, {}, &response).ok());
  }
  absl::Status FlushOnceItIsBack() {
    const auto limit = Clock::now() + seconds(20);
    absl::Status flushed = client_->Flush();
    while (!flushed.ok() && Clock::now() < limit) flushed = client_->Flush();
    return flushed;
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

TEST_F(Outage, ADrainedShardIsSaidToDrainAtTheDeadline) {
  Connect(seconds(5), seconds(60));
  Drain();
  const absl::Status pulled = Pull(away_, {.timeout = milliseconds(300)});
  EXPECT_EQ(KindOf(pulled), ErrorKind::kUnavailable) << pulled;
  EXPECT_TRUE(Says(pulled, address()) && Says(pulled, "draining")) << pulled;
  ExpectOfShard1(pulled, address());
  const auto pushed =
      table_->Push(away_, std::vector<float>(away_.size()), {.timeout = milliseconds(300)});
  EXPECT_EQ(KindOf(pushed), ErrorKind::kDeadlineExceeded) << pushed.status();
  EXPECT_TRUE(Says(pushed.status(), address()) && Says(pushed.status(), "draining"))
      << pushed.status();
  ExpectOfShard1(pushed.status(), address());
  const absl::Status flushed = client_->Flush(milliseconds(10));
  EXPECT_EQ(KindOf(flushed), ErrorKind::kDeadlineExceeded) << flushed;
  EXPECT_TRUE(Says(flushed, "1 pushes") && Says(flushed, "draining")) << flushed;
  ExpectOfShard1(flushed, address());
  EXPECT_OK(Pull(here_));
}

TEST_F(Outage, ADrainedShardIsAwayAfterRecoveryTimeout) {
  Connect(seconds(60), kRecovery);
  Drain();
  const auto began = Clock::now();
  const absl::Status pulled = Pull(away_);
  EXPECT_EQ(KindOf(pulled), ErrorKind::kUnavailable) << pulled;
  EXPECT_TRUE(Says(pulled, "recovery_timeout") && Says(pulled, "draining")) << pulled;
  ExpectOfShard1(pulled, address());
  EXPECT_FALSE(Suggests(pulled, kIsItThere)) << "it is";
  EXPECT_TRUE(Suggests(pulled, "successor"));
  const absl::Status pushed = Push(away_);
  EXPECT_EQ(KindOf(pushed), ErrorKind::kUnavailable) << pushed;
  EXPECT_TRUE(Says(pushed, "still pending") && Says(pushed, "draining")) << pushed;
  ExpectOfShard1(pushed, address());
  EXPECT_GE(Clock::now() - began, kRecovery);
  EXPECT_LT(Clock::now() - began, seconds(20));
  EXPECT_OK(Push(here_));
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

// Calls without a timeout, whose patience is far shorter than the absence.
TEST_F(Outage, CallsWithoutATimeoutOutlastAnAbsence) {
  ConnectWith({.patience = kSlowdown * seconds(1), .recovery_timeout = seconds(60)});
  CutOff();
  auto pulled = std::async(std::launch::async, [&] { return Pull(away_); });
  auto pushed = std::async(std::launch::async, [&] { return Push(away_); });
  EXPECT_EQ(pulled.wait_for(milliseconds(2500)), std::future_status::timeout);
  EXPECT_EQ(pushed.wait_for(milliseconds(0)), std::future_status::timeout);
  ComeBack();
  EXPECT_OK(pulled.get());
  EXPECT_OK(pushed.get());
  EXPECT_OK(client_->Flush());
  EXPECT_EQ(PullRows(*table_, away_), std::vector<float>(away_.size(), -2.0F));
}

TEST_F(Outage, CallsWithoutATimeoutEndWithRecoveryTimeout) {
  ConnectWith({.patience = seconds(1), .recovery_timeout = milliseconds(2500)});
  CutOff();
  const auto began = Clock::now();
  const absl::Status pulled = Pull(away_);
  EXPECT_EQ(KindOf(pulled), ErrorKind::kUnavailable) << pulled;
  EXPECT_TRUE(Says(pulled, "recovery_timeout")) << pulled;
  EXPECT_GE(Clock::now() - began, milliseconds(2000));
  EXPECT_EQ(KindOf(Push(away_)), ErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(client_->Flush()), ErrorKind::kUnavailable);
}

TEST_F(Outage, CallsWithoutATimeoutHavePatienceWithAShardThatOnlyHangs) {
  ConnectWith({.patience = kSlowdown * seconds(1), .recovery_timeout = seconds(60)});
  servers_.Signal(1, SIGSTOP);
  EXPECT_EQ(KindOf(Pull(away_)), ErrorKind::kDeadlineExceeded);
  const absl::Status pushed = Push(away_);
  EXPECT_EQ(KindOf(pushed), ErrorKind::kDeadlineExceeded) << pushed;
  ExpectOfShard1(pushed, address());
  const absl::Status flushed = client_->Flush(milliseconds(10));
  EXPECT_EQ(KindOf(flushed), ErrorKind::kDeadlineExceeded) << flushed;
  ExpectOfShard1(flushed, address());
  servers_.Signal(1, SIGCONT);
  EXPECT_OK(client_->Flush(seconds(30)));
}

TEST_F(Outage, AFutureOfAPushIsToldOfItToo) {
  Connect(seconds(60), kRecovery);
  CutOff();
  auto push = table_->PushAsync(away_, std::vector<float>(away_.size(), 1.0F));
  const auto began = Clock::now();
  const auto waited = push.Wait(seconds(60));
  EXPECT_EQ(KindOf(waited), ErrorKind::kUnavailable) << waited.status();
  EXPECT_TRUE(Says(waited.status(), "still pending")) << waited.status();
  EXPECT_LT(Clock::now() - began, seconds(20));
  ComeBack();
  EXPECT_OK(FlushOnceItIsBack());
  EXPECT_OK(push.Wait(seconds(30)));  // the result was not taken
}

TEST_F(Outage, WhoWaitsForRoomThatAnAbsentShardHoldsIsToldOfItToo) {
  ConnectWith({.timeout = seconds(60), .recovery_timeout = kRecovery, .max_in_flight_bytes = 200});
  CutOff();
  auto push = table_->PushAsync(away_, std::vector<float>(away_.size(), 1.0F));
  const auto began = Clock::now();
  const absl::Status second = Push(away_);
  // Unavailable would say that it is still pending.
  EXPECT_EQ(KindOf(second), ErrorKind::kOverloaded) << second;
  EXPECT_EQ(DescribeError(second).shard, -1);
  EXPECT_TRUE(Says(second, "nothing was sent") && Says(second, address())) << second;
  EXPECT_EQ(KindOf(Pull(away_)), ErrorKind::kOverloaded);
  EXPECT_EQ(KindOf(table_->PushAsync(away_, std::vector<float>(away_.size())).Wait(seconds(1))),
            ErrorKind::kOverloaded);
  EXPECT_LT(Clock::now() - began, seconds(20));
  ComeBack();
  EXPECT_OK(FlushOnceItIsBack());
  EXPECT_EQ(PullRows(*table_, away_), std::vector<float>(away_.size(), -2.0F));
}

TEST_F(Outage, AConnectionWithoutASignOfLifeIsSaidInWords) {
  ConnectWith({.timeout = seconds(3), .keepalive = seconds(1)});
  servers_.Signal(1, SIGSTOP);
  const absl::Status pulled = Pull(away_);
  EXPECT_TRUE(Says(pulled, "no sign of life")) << pulled;
  ExpectOfShard1(pulled, address());
  servers_.Signal(1, SIGCONT);
}

TEST_F(Outage, ConnectSaysThatAShardIsDraining) {
  Drain();
  const auto client = Client::Connect(
      {.addresses = {servers_.addresses()[0]}, .timeout = kSlowdown * milliseconds(500)});
  EXPECT_EQ(KindOf(client), ErrorKind::kUnavailable) << client.status();
  EXPECT_TRUE(Says(client.status(), "draining")) << client.status();
  ExpectOfShard1(client.status(), address());
  EXPECT_FALSE(Suggests(client.status(), kIsItThere)) << "it is";
  EXPECT_TRUE(Suggests(client.status(), "successor"));
}

TEST(ConnectTest, SaysThatAllSessionsOfAShardAreInUse) {
  LocalServers servers(2, {"--queue-max-sessions=1"});
  const auto first = servers.Connect();
  const auto second = Client::Connect(
      {.addresses = {servers.addresses()[0]}, .timeout = kSlowdown * milliseconds(500)});
  EXPECT_EQ(KindOf(second), ErrorKind::kOverloaded) << second.status();
  const ErrorDetails error = DescribeError(second.status());
  EXPECT_EQ(error.shard, 0);
  EXPECT_TRUE(Says(second.status(), "sessions") && Says(second.status(), servers.addresses()[0]))
      << second.status();
  EXPECT_TRUE(Suggests(second.status(), "close clients")) << error.hint;
}

TEST(ConnectOptionsTest, RefuseARecoveryTimeoutThatIsNotPositive) {
  const auto client =
      Client::Connect({.addresses = {"127.0.0.1:1"}, .recovery_timeout = milliseconds(0)});
  EXPECT_EQ(KindOf(client), ErrorKind::kInvalidArgument) << client.status();
}

}  // namespace
}  // namespace hotrow::testing
