// A queue of requests on a stream to a real server, whose replies are the test's.
//
// Thread safety: a test is one thread; the queue is also called by the stream's. Ownership: a
// fixture ends its server, streams and threads.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "client/src/request_queue.h"
#include "client/src/shard_channel.h"
#include "proto/wire/status_codec.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {

using client::Again;
using client::Alarm;
using client::MessageStream;
using client::Now;
using client::Reply;
using client::RequestQueue;
using client::ShardRequest;
using client::TimePoint;
using std::chrono::milliseconds;

// Waits for a condition that another thread makes true.
template <typename Condition>
bool Becomes(Condition condition) {
  const TimePoint limit = Now() + std::chrono::seconds(20);
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
    sent_as = request_id;
    busy = false;
    wire::PullRequest request;
    request.request_id = request_id;
    request.tables = {{1, 1}};
    return wire::Encode(request, {grpc::Slice(std::string(8, 'k'))});
  }
  std::optional<Again> OnReply(Reply, int) override {
    ++answered;
    if (refused_with.kind != wire::ErrorKind::kNone) return Again{again_after, refused_with};
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
  std::atomic<uint64_t> sent_as = 0;  // in the last message
  std::atomic<int> answered = 0;
  std::atomic<int> settled = 0;
  wire::ErrorInfo refused_with;  // by every reply, unless none
  milliseconds again_after{0};   // then
  absl::Status failure;
};

inline constexpr milliseconds kRecovery{120'000};

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
  explicit QueueOnAStream(RequestQueue::Kind kind = RequestQueue::Kind::kPush)
      : queue_(kind, 7, "somewhere", alarm_, kRecovery) {
    streams_.push_back(NewStream());
  }

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
  // Again where the reply comes before the queue has noted that the request was sent.
  void Answer(const std::shared_ptr<NotedRequest>& request) {
    const int before = request->answered;
    EXPECT_TRUE(Becomes([&] {
      AnswerAs(request->sent_as);
      return request->answered > before;
    }));
  }
  virtual void AnswerAs(uint64_t wire_id) {
    wire::PushResponse response;
    response.request_id = wire_id;
    EXPECT_OK(queue_.OnMessage(wire::Encode(response)));
  }
  static bool IsSent(const std::shared_ptr<NotedRequest>& request, int times) {
    return Becomes([&] { return request->encoded == times && !request->busy; });
  }
  // And what a channel does then.
  void ReceiveDamage() {
    grpc::Slice bytes(std::string("\xff\xff\xff"));
    EXPECT_FALSE(queue_.OnMessage(grpc::ByteBuffer(&bytes, 1)).ok());
    Reattach();
  }

  LocalServers servers_{1};
  Alarm alarm_;
  RequestQueue queue_;
  client::CompletionThread completions_;
  std::vector<std::unique_ptr<OpenStream>> streams_;
};

}  // namespace hotrow::testing
