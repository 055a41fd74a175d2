// StreamCall: one bidirectional stream that carries many requests at once. It reads a message,
// hands it to a StreamHandler and writes replies in the order in which they become ready.
//
// Thread safety: replies may be given from any thread; the rest is ServerCall's. Ownership: a
// handler outlives its calls. Bounds: a stream stops reading while `max_requests` requests are
// unanswered or `max_bytes` bytes of requests and unsent replies are held; the client then meets
// HTTP/2 flow control. A client that leaves does not disturb what its requests do: their replies
// are dropped.

#pragma once

#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "server/rpc/server_call.h"

namespace hotrow {

using ByteStream = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// Where the completion of an accepted call goes to.
struct AcceptTarget {
  grpc::ServerContext* context = nullptr;
  grpc::ServerCompletionQueue* queue = nullptr;
  void* tag = nullptr;
};

class StreamHandler {
 public:
  using Reply = absl::AnyInvocable<void(grpc::ByteBuffer)>;

  virtual ~StreamHandler() = default;
  // Asks gRPC for the next stream of this method.
  virtual void Accept(const AcceptTarget& target, ByteStream* stream) = 0;
  // Answers `message` by calling `reply` exactly once, now or later, on any thread.
  virtual void Handle(const grpc::ByteBuffer& message, Reply reply) = 0;
};

struct StreamLimits {
  int64_t max_requests = 64;
  int64_t max_bytes = int64_t{64} << 20;
};

class StreamCall final : public ServerCall {
 public:
  StreamCall(StreamHandler* handler, const StreamLimits& limits,
             std::shared_ptr<CallRegistry> registry, grpc::ServerCompletionQueue* queue);

 private:
  void Accept(void* tag) override;
  std::shared_ptr<ServerCall> Another() override;
  void Pump() override;

  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void TakeReply(int64_t request_bytes, grpc::ByteBuffer reply);
  bool ReadIsDue() const HOTROW_REQUIRES(mutex_);
  bool FinishIsDue() const HOTROW_REQUIRES(mutex_);

  StreamHandler* const handler_;
  const StreamLimits limits_;
  ByteStream stream_{&context_};
  grpc::ByteBuffer incoming_;  // loop only

  std::deque<grpc::ByteBuffer> outgoing_ HOTROW_GUARDED_BY(mutex_);
  int64_t unanswered_ HOTROW_GUARDED_BY(mutex_) = 0;
  int64_t held_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  int64_t writing_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool reading_ HOTROW_GUARDED_BY(mutex_) = false;
  bool reads_ended_ HOTROW_GUARDED_BY(mutex_) = false;
  bool writing_ HOTROW_GUARDED_BY(mutex_) = false;
  bool finishing_ HOTROW_GUARDED_BY(mutex_) = false;

  MemberTag<StreamCall> read_tag_{this, &StreamCall::OnRead};
  MemberTag<StreamCall> write_tag_{this, &StreamCall::OnWritten};
  MemberTag<StreamCall> finish_tag_{this, &StreamCall::OnFinished};
};

}  // namespace hotrow
