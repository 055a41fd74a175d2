// Streams under strain: many requests at once, malformed ones, clients that leave, drains.

#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "server/rpc/request_id.h"
#include "tests/rpc/test_server.h"
#include "tests/slowdown.h"

namespace hotrow::testing {
namespace {

constexpr uint32_t kDim = 16;

// The Pull stream without generated messages, to send what no generated stub would.
class RawStream {
 public:
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const char* method) : stub_(channel) {
    SetDeadline(context_);
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(nullptr);
    Wait();
  }
  ~RawStream() {
    context_.TryCancel();
    grpc::Status status;
    stream_->Finish(&status, nullptr);
    Wait();
    queue_.Shutdown();
  }

  bool Send(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    stream_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    return Wait();
  }
  template <typename Message>
  bool Receive(Message* message) {
    grpc::ByteBuffer buffer;
    stream_->Read(&buffer, nullptr);
    if (!Wait()) return false;
    grpc::Slice slice;
    return buffer.DumpToSingleSlice(&slice).ok() &&
           message->ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

constexpr const char* kPull = "/hotrow.v1.ParameterService/Pull";
constexpr const char* kPush = "/hotrow.v1.ParameterService/Push";

TEST(Stream, ManyRequestsAreAnsweredEachOnce) {
  TestServer server({.stream_limits = {.max_requests = 3, .max_bytes = 10'000}});
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", kDim);
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = client.parameters().Pull(&context);
  constexpr uint64_t kRequests = 500;
  std::thread writer([&] {
    for (uint64_t id = 1; id <= kRequests; ++id) {
      const std::vector<uint64_t> keys(id % 65, id);
      ASSERT_TRUE(stream->Write(PullOf(id, table, keys)));
    }
    stream->WritesDone();
  });
  std::set<uint64_t> answered;
  v1::PullResponse response;
  while (stream->Read(&response)) {
    EXPECT_FALSE(response.has_error()) << response.error().message();
    EXPECT_EQ(response.rows().size(), response.request_id() % 65 * kDim * sizeof(float));
    EXPECT_TRUE(answered.insert(response.request_id()).second);
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(answered.size(), kRequests);
}

TEST(Stream, AMalformedRequestIsAnsweredByItsIdAndTheStreamLivesOn) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", kDim);
  RawStream stream(client.channel(), kPull);
  v1::PullRequest wrong = PullOf(41, table, {1, 2, 3});
  wrong.mutable_keys()->pop_back();  // not a whole number of keys
  const std::string good = PullOf(42, table, {1, 2, 3}).SerializeAsString();
  const std::vector<std::pair<std::string, uint64_t>> cases = {
      {wrong.SerializeAsString(), 41}, {good.substr(0, good.size() - 1), 42},
      {"\x08\x07\xff\xff", 7},         {"no protobuf at all", 0},
      {std::string(64, '\xff'), 0},
  };
  for (const auto& [bytes, request_id] : cases) {
    ASSERT_TRUE(stream.Send(bytes));
    v1::PullResponse response;
    ASSERT_TRUE(stream.Receive(&response));
    EXPECT_EQ(response.request_id(), request_id);
    EXPECT_EQ(response.error().kind(), v1::ERROR_KIND_INVALID_ARGUMENT);
    EXPECT_NE(response.error().message(), "");
  }
  ASSERT_TRUE(stream.Send(good));
  v1::PullResponse response;
  ASSERT_TRUE(stream.Receive(&response));
  EXPECT_EQ(response.request_id(), 42u);
  EXPECT_FALSE(response.has_error()) << response.error().message();
}

TEST(Stream, AMalformedPushLeavesItsNumbersOpen) {
  TestServer server;
  TestClient client = server.Client();
  const PushTarget target{client.CreateTable("t", kDim), "t", kDim};
  PushMaker maker(client.OpenSession("0123456789abcdef"));
  const v1::PushRequest push = maker.Make(target, {1, 2, 3}, std::vector<float>(3 * kDim, 1.0F));
  RawStream stream(client.channel(), kPush);
  v1::PushResponse response;
  const std::string bytes = push.SerializeAsString();
  ASSERT_TRUE(stream.Send(bytes.substr(0, bytes.size() - 4)));
  ASSERT_TRUE(stream.Receive(&response));
  EXPECT_EQ(response.request_id(), push.request_id());
  EXPECT_EQ(response.error().kind(), v1::ERROR_KIND_INVALID_ARGUMENT);
  ASSERT_TRUE(stream.Send(bytes));
  ASSERT_TRUE(stream.Receive(&response));
  EXPECT_FALSE(response.has_error()) << response.error().message();
  for (const auto& result : response.results()) {
    EXPECT_EQ(result.outcome(), v1::OUTCOME_APPLIED);
    EXPECT_FALSE(result.duplicate());
  }
}

TEST(Stream, AMessageOverTheLimitEndsTheStreamOnly) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", kDim);
  RawStream stream(client.channel(), kPull);
  stream.Send(std::string(5 << 20, 'x'));
  v1::PullResponse response;
  EXPECT_FALSE(stream.Receive(&response));
  EXPECT_FALSE(client.Pull(table, {1}).has_error());
}

TEST(Stream, RequestIdsAreFoundInWhatCannotBeDecoded) {
  const auto peek = [](const std::string& bytes) {
    const grpc::Slice slice(bytes);
    return PeekRequestId(grpc::ByteBuffer(&slice, 1));
  };
  EXPECT_EQ(peek("\x08\x2a\xff"), 42u);
  EXPECT_EQ(peek(std::string("\x10\x01\x08\x07", 4)), 7u);
  EXPECT_EQ(peek(""), 0u);
  EXPECT_EQ(peek("\x08"), 0u);
  EXPECT_EQ(peek(std::string("\x0a\x01x", 3)), 0u);
  EXPECT_EQ(peek(std::string(100, '\xff')), 0u);
}

TEST(Stream, ClientsThatLeaveInTheMiddleDisturbNobody) {
  TestServer server({.event_loops = 2});
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", kDim);
  const std::vector<uint64_t> keys(1000, 5);
  for (int i = 0; i < 60; ++i) {
    TestClient leaving = server.Client();
    grpc::ClientContext context;
    SetDeadline(context);
    auto stream = leaving.parameters().Pull(&context);
    for (uint64_t id = 0; id < 20; ++id) stream->Write(PullOf(id, table, keys));
    v1::PullResponse response;
    if (i % 3 == 0) stream->Read(&response);
    context.TryCancel();
  }
  EXPECT_FALSE(client.Pull(table, keys).has_error());
  // Every request has been counted to its end, the abandoned ones too.
  const auto in_flight = [&] { return server.metrics.Totals(Method::kPull).in_flight; };
  const auto limit = std::chrono::steady_clock::now() + kTestTimeout;
  while (in_flight() != 0 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_EQ(in_flight(), 0);
}

TEST(Stream, AClientThatReadsNothingIsHeldByFlowControl) {
  TestServer server({.stream_limits = {.max_requests = 4, .max_bytes = 4 << 20}});
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("wide", 256);
  const std::vector<uint64_t> keys(1000, 5);
  TestClient lazy = server.Client();
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = lazy.parameters().Pull(&context);
  std::thread writer([&] {
    for (uint64_t id = 1; id <= 2000 && stream->Write(PullOf(id, table, keys)); ++id) {
    }
  });
  // Others are served meanwhile.
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(client.Pull(table, {1}).has_error());
  context.TryCancel();
  writer.join();
  // A million bytes each: 2000 answers would be 2 GB. Only what the network took was made.
  EXPECT_LT(server.metrics.Totals(Method::kPull).sent_bytes, uint64_t{600} << 20);
}

// Streams of one connection each that ask for a reply of 2 MB as often as they may, and read none.
class LazyClients {
 public:
  LazyClients(const TestServer& server, uint32_t table, int count) {
    const std::vector<uint64_t> keys(2000, 5);
    for (int i = 0; i < count; ++i) {
      clients_.push_back(std::make_unique<Lazy>(server.Client()));
      Lazy& lazy = *clients_.back();
      SetDeadline(lazy.context);
      lazy.stream = lazy.client.parameters().Pull(&lazy.context);
      lazy.writer = std::thread([&lazy, table, keys] {
        for (uint64_t id = 1; lazy.stream->Write(PullOf(id, table, keys)); ++id) {
        }
      });
    }
  }
  ~LazyClients() {
    for (auto& lazy : clients_) lazy->context.TryCancel();
    Join();
  }
  // Returns when no client can write any more.
  void Join() {
    for (auto& lazy : clients_) {
      if (lazy->writer.joinable()) lazy->writer.join();
    }
  }

 private:
  struct Lazy {
    explicit Lazy(TestClient own) : client(std::move(own)) {}
    TestClient client;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::PullRequest, v1::PullResponse>> stream;
    std::thread writer;
  };
  std::vector<std::unique_ptr<Lazy>> clients_;
};

TEST(Stream, ClientsThatReadNothingShareABoundAndOthersAreServed) {
  constexpr int64_t kTotal = int64_t{48} << 20;
  TestServer server({.stream_limits = {.max_total_bytes = kTotal}});
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("wide", 256);
  const LazyClients lazy(server, table, 8);
  // Eight share half of it, of which a ninth part stays free.
  constexpr int64_t kTheirs = kTotal / 3;
  const auto until = std::chrono::steady_clock::now() + kTestTimeout;
  while (server.rpc->highest_stream_bytes() < kTheirs && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(client.Pull(table, {1}).has_error());
  EXPECT_GE(server.rpc->highest_stream_bytes(), kTheirs);
  EXPECT_LE(server.rpc->highest_stream_bytes(), kTotal);
}

// More than the memory has room for, one after another: what the first hold leaves the last
// nothing.
TEST(Stream, FiftyClientsThatReadNothingStopNobodyForLong) {
  constexpr int64_t kTotal = int64_t{64} << 20;
  TestServer server(
      {.stream_limits = {.max_total_bytes = kTotal,
                         .max_write_time_when_short = std::chrono::milliseconds(100)}});
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("wide", 256);
  const LazyClients lazy(server, table, 50);
  const auto until = std::chrono::steady_clock::now() + kTestTimeout;
  while (server.metrics.cut_streams() == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(client.Pull(table, {1}).has_error());
  // Without, each waits until clients are cut for their own sake, after 30 s.
  EXPECT_LT(std::chrono::steady_clock::now() - began, kSlowdown * std::chrono::seconds(20));
  EXPECT_LE(server.rpc->highest_stream_bytes(), kTotal);
}

TEST(Stream, AClientThatTakesNoReplyIsCut) {
  TestServer server({.stream_limits = {.max_write_time = std::chrono::milliseconds(100)}});
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("wide", 256);
  LazyClients lazy(server, table, 2);
  lazy.Join();  // ends because the server hangs up
  EXPECT_EQ(server.metrics.cut_streams(), 2u);
  EXPECT_FALSE(client.Pull(table, {1}).has_error());
}

TEST(StreamMemory, LeavesEveryoneAsMuchAsAnyoneHolds) {
  constexpr int64_t kLimit = int64_t{12} << 20;
  constexpr int64_t kPiece = int64_t{1} << 20;
  StreamMemory memory(kLimit);
  int64_t greedy = 0;
  while (memory.TryTake(kPiece, greedy, nullptr)) greedy += kPiece;
  EXPECT_EQ(greedy, kLimit / 4) << "half is for those who hold nothing";
  int64_t second = 0;
  while (memory.TryTake(kPiece, second, nullptr)) second += kPiece;
  EXPECT_EQ(second, kLimit / 12);
  EXPECT_FALSE(memory.is_short());
  EXPECT_TRUE(memory.TryTake(kLimit * 2 / 3, 0, nullptr)) << "who holds nothing may have the rest";
  EXPECT_FALSE(memory.TryTake(1, 1, nullptr));
  EXPECT_FALSE(memory.is_short()) << "who holds something may wait";
  EXPECT_FALSE(memory.TryTake(1, 0, nullptr));
  EXPECT_TRUE(memory.is_short());
  memory.GiveBack(kLimit);
  EXPECT_FALSE(memory.is_short());
  EXPECT_EQ(memory.used_bytes(), 0);
}

TEST(Stream, ADrainAnswersWhatItAcceptedAndEndsStreamsAsUnavailable) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", kDim);
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = client.parameters().Pull(&context);
  v1::PullResponse response;
  ASSERT_TRUE(stream->Write(PullOf(1, table, {1})));
  ASSERT_TRUE(stream->Read(&response));

  EXPECT_TRUE(server.shard->Drain(std::chrono::steady_clock::now() + kTestTimeout));
  ASSERT_TRUE(stream->Write(PullOf(2, table, {1})));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.request_id(), 2u);
  EXPECT_EQ(response.error().kind(), v1::ERROR_KIND_UNAVAILABLE);

  server.rpc->Shutdown(std::chrono::steady_clock::now() + kTestTimeout);
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Stream, AShutdownUnderLoadEnds) {
  for (int round = 0; round < 10; ++round) {
    TestServer server({.event_loops = 2});
    std::vector<std::thread> clients;
    TestClient first = server.Client();
    const uint32_t table = first.CreateTable("t", kDim);
    std::promise<void> loaded;
    std::atomic<int> left{3};
    for (int i = 0; i < 3; ++i) {
      clients.emplace_back([&] {
        TestClient client = server.Client();
        grpc::ClientContext context;
        SetDeadline(context);
        auto stream = client.parameters().Pull(&context);
        v1::PullResponse response;
        uint64_t id = 0;
        while (stream->Write(PullOf(++id, table, std::vector<uint64_t>(200, id))) &&
               stream->Write(PullOf(++id, table, std::vector<uint64_t>(200, id))) &&
               stream->Read(&response)) {
          if (id == 20 && left.fetch_sub(1) == 1) loaded.set_value();
        }
        context.TryCancel();
      });
    }
    loaded.get_future().wait();
    if (round % 2 == 0) server.shard->Drain(std::chrono::steady_clock::now() + kTestTimeout);
    server.rpc->Shutdown(std::chrono::steady_clock::now() + std::chrono::milliseconds(round * 20));
    for (std::thread& client : clients) client.join();
  }
}

}  // namespace
}  // namespace hotrow::testing
