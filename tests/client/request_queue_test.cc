#include "client/src/request_queue.h"

#include <atomic>
#include <thread>

#include "client/src/shard_channel.h"
#include "proto/wire/status_codec.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

using client::Alarm;
using client::MessageStream;
using client::Now;
using client::Reply;
using client::RequestQueue;
using client::ShardRequest;
using client::TimePoint;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Waits for a condition that another thread makes true.
template <typename Condition>
bool Becomes(Condition condition) {
  const TimePoint limit = Now() + seconds(20);
  while (!condition()) {
    if (Now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

// Notes what the queue does with it, and whether it ever does two things at once.
class NotedRequest final : public ShardRequest {
 public:
  explicit NotedRequest(TimePoint deadline) : ShardRequest(deadline) {}

  grpc::ByteBuffer Encode(uint64_t request_id) override {
    if (busy.exchange(true)) overlapped = true;
    ++encoded;
    if (!Becomes([&] { return !held.load(); })) std::abort();
    busy = false;
    wire::PullRequest request;
    request.request_id = request_id;
    request.tables = {{1, 1}};
    return wire::Encode(request, {grpc::Slice(std::string(8, 'k'))});
  }
  std::optional<milliseconds> OnReply(Reply, int) override {
    ++settled;
    return std::nullopt;
  }
  void OnFailure(const absl::Status& status) override {
    if (busy) overlapped = true;
    failure = status;
    ++settled;
  }

  std::atomic<bool> held = false;  // keeps Encode from returning
  std::atomic<bool> busy = false;
  std::atomic<bool> overlapped = false;
  std::atomic<int> encoded = 0;
  std::atomic<int> settled = 0;
  absl::Status failure;
};

struct QueueClock final : client::Timed {
  explicit QueueClock(RequestQueue& watched) : queue(watched) {}
  TimePoint OnTime(TimePoint now) override { return queue.OnTime(now); }
  RequestQueue& queue;
};

TEST(RequestQueue, ADeadlineThatPassesWhileARequestIsEnqueuedIsNotMissed) {
  Alarm alarm;
  RequestQueue queue(RequestQueue::Kind::kPull, 0, "nowhere", alarm);
  QueueClock clock(queue);
  alarm.Register(clock);
  alarm.Start();
  for (int i = 0; i < 20000; ++i) {
    // Nothing else will wake the alarm: a missed deadline is missed for ever.
    const auto request = std::make_shared<NotedRequest>(Now() + microseconds(i % 64));
    queue.Enqueue(request);
    ASSERT_TRUE(Becomes([&] { return request->settled == 1; })) << i;
    ASSERT_EQ(KindOf(request->failure), ErrorKind::kUnavailable);
  }
  alarm.Stop();
}

// One open stream to a server, without the channel that would own it. Replies are the test's.
class OpenStream final : public MessageStream::Listener {
 public:
  OpenStream(const std::string& address, grpc::CompletionQueue& completions, RequestQueue& queue)
      : queue_(queue),
        stream_(MessageStream::Start(client::MakeChannel(address, std::chrono::seconds(10)),
                                     "/hotrow.v1.ParameterService/Pull", completions, *this)) {
    EXPECT_TRUE(Becomes([&] { return open_.load(); }));
  }
  ~OpenStream() override {
    stream_->Cancel();
    EXPECT_TRUE(Becomes([&] { return closed_.load(); }));
  }
  const std::shared_ptr<MessageStream>& stream() const { return stream_; }

  void OnOpen(MessageStream&) override { open_ = true; }
  void OnMessage(MessageStream&, const grpc::ByteBuffer&) override {}
  void OnWritten(MessageStream& stream) override { queue_.OnWritten(stream); }
  void OnClosed(MessageStream&, const grpc::Status&) override { closed_ = true; }

 private:
  RequestQueue& queue_;
  std::atomic<bool> open_ = false;
  std::atomic<bool> closed_ = false;
  std::shared_ptr<MessageStream> stream_;
};

class QueueOnAStream : public ::testing::Test {
 protected:
  QueueOnAStream() { streams_.push_back(NewStream()); }

  std::unique_ptr<OpenStream> NewStream() {
    return std::make_unique<OpenStream>(servers_.addresses()[0], completions_.queue(), queue_);
  }
  std::shared_ptr<NotedRequest> Enqueue(TimePoint deadline = client::Never()) {
    const auto request = std::make_shared<NotedRequest>(deadline);
    queue_.Enqueue(request);
    return request;
  }
  void Attach() { queue_.Attach(streams_.back()->stream()); }
  void Reattach() {
    queue_.NoteTrouble(absl::UnavailableError("broken"));
    queue_.Detach();
    streams_.push_back(NewStream());
    Attach();
  }
  void Answer(uint64_t request_id) {
    wire::PushResponse response;
    response.request_id = request_id;
    EXPECT_OK(queue_.OnMessage(wire::Encode(response)));
  }
  // And what a channel does then.
  void ReceiveDamage() {
    grpc::Slice bytes(std::string("\xff\xff\xff"));
    EXPECT_FALSE(queue_.OnMessage(grpc::ByteBuffer(&bytes, 1)).ok());
    Reattach();
  }

  LocalServers servers_{1};
  Alarm alarm_;
  RequestQueue queue_{RequestQueue::Kind::kPush, 7, "somewhere", alarm_};
  client::CompletionThread completions_;
  std::vector<std::unique_ptr<OpenStream>> streams_;
};

TEST_F(QueueOnAStream, LeavesARequestAloneWhileItIsEncoded) {
  const auto request = Enqueue(Now() + std::chrono::hours(1));
  request->held = true;
  std::thread sender([&] { Attach(); });
  ASSERT_TRUE(Becomes([&] { return request->busy.load(); }));
  // The stream breaks, another takes its place, and the deadline passes.
  Reattach();
  queue_.OnTime(Now() + std::chrono::hours(2));
  EXPECT_EQ(request->encoded, 1);
  EXPECT_EQ(request->settled, 0);
  request->held = false;
  sender.join();
  ASSERT_TRUE(Becomes([&] { return request->encoded == 2; }));  // for the new stream
  Answer(1);
  EXPECT_EQ(request->settled, 1);
  EXPECT_FALSE(request->overlapped);
}

TEST_F(QueueOnAStream, ARequestThatIsEncodedWhenAllFailsIsSettledAfterwards) {
  const auto request = Enqueue();
  request->held = true;
  std::thread sender([&] { Attach(); });
  ASSERT_TRUE(Becomes([&] { return request->busy.load(); }));
  queue_.Fail(absl::CancelledError("over"));
  EXPECT_EQ(request->settled, 0);
  request->held = false;
  sender.join();
  EXPECT_EQ(request->settled, 1);
  EXPECT_FALSE(request->overlapped);
}

TEST_F(QueueOnAStream, DamagedRepliesFailOnlyTheRequestThatTheyAnswer) {
  const auto good = Enqueue();
  const auto bad = Enqueue();
  const auto late = Enqueue();
  Attach();
  ASSERT_TRUE(Becomes([&] { return late->encoded == 1; }));
  ReceiveDamage();  // of which of the three?
  ASSERT_TRUE(Becomes([&] { return good->encoded == 2; }));
  EXPECT_EQ(bad->encoded, 1);  // one at a time now
  Answer(1);
  ASSERT_TRUE(Becomes([&] { return bad->encoded == 2; }));
  // The first damage may or may not count: the loop thread may still be encoding what it meets.
  int damaged = 1;
  for (; bad->settled == 0 && damaged <= client::kMaxDamagedPushes; ++damaged) ReceiveDamage();
  EXPECT_GE(damaged, client::kMaxDamagedPushes);
  EXPECT_EQ(bad->settled, 1);
  EXPECT_EQ(KindOf(bad->failure), ErrorKind::kSessionLost);
  EXPECT_EQ(DescribeError(bad->failure).shard, 7);
  EXPECT_NE(bad->failure.message().find("shard 7 at somewhere"), absl::string_view::npos);
  // Once more when the end of the last write came between the failure and the break.
  ASSERT_TRUE(Becomes([&] { return late->encoded >= 2; }));
  Answer(3);
  EXPECT_OK(good->failure);
  EXPECT_OK(late->failure);
  const auto first = Enqueue();
  const auto second = Enqueue();
  queue_.Pump();
  EXPECT_TRUE(Becomes([&] { return first->encoded == 1 && second->encoded == 1; }));
}

TEST_F(QueueOnAStream, PushesDoNotRunAheadOfOneThatIsNotAnswered) {
  std::vector<std::shared_ptr<NotedRequest>> requests;
  for (int i = 0; i < 2 * client::kSendWindow; ++i) requests.push_back(Enqueue());
  Attach();
  ASSERT_TRUE(Becomes([&] { return requests[client::kSendWindow - 1]->encoded == 1; }));
  for (uint64_t id = 2; id <= client::kSendWindow; ++id) Answer(id);
  EXPECT_EQ(requests[client::kSendWindow]->encoded, 0);
  Answer(1);
  EXPECT_TRUE(Becomes([&] { return requests.back()->encoded == 1; }));
}

}  // namespace
}  // namespace hotrow::testing
