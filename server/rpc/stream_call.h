// StreamCall: one bidirectional stream that carries many requests at once. It reads a message,
// hands it to a StreamHandler and writes replies in the order in which they become ready.
//
// Thread safety: replies may be given from any thread; the rest is ServerCall's. Ownership: a
// handler and the memory outlive their calls. Bounds: a message that was read waits, and nothing
// more is read, while `max_requests` requests are unanswered, or while the stream or all streams
// together hold too many bytes; the client then meets HTTP/2 flow control. An accepted request
// counts its own bytes and, until its reply is there, the largest reply. So a server holds at most
// `max_total_bytes`, and one waiting message a stream, which gRPC's quota covers. A stream whose
// client does not take a reply whole within `max_write_time` is cut, or sooner where the memory is
// short.
// A client that leaves does not disturb what its requests do: their replies are dropped.

#pragma once

#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "server/rpc/server_call.h"
#include "server/rpc/stream_memory.h"

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
  // Answers `message` by calling `reply` exactly once, now or later, on any thread. `origin` lives
  // as long as `reply`.
  virtual void Handle(const grpc::ByteBuffer& message, const CallOrigin& origin, Reply reply) = 0;
  // A stream was cut because its client did not read.
  virtual void CountCut() = 0;
};

struct StreamLimits {
  int64_t max_requests = 64;
  int64_t max_bytes = int64_t{64} << 20;         // of one stream
  int64_t max_total_bytes = int64_t{512} << 20;  // of all streams of a server
  std::chrono::milliseconds max_write_time{30'000};
  // The same while streams that hold nothing find no room (StreamMemory).
  std::chrono::milliseconds max_write_time_when_short{1'000};
};

// What the streams of a server share.
struct StreamShared {
  explicit StreamShared(const StreamLimits& stream_limits)
      : limits(stream_limits), memory(stream_limits.max_total_bytes) {}

  const StreamLimits limits;
  StreamMemory memory;
};

class StreamCall final : public ServerCall {
 public:
  StreamCall(StreamHandler* handler, std::shared_ptr<StreamShared> shared,
             std::shared_ptr<CallRegistry> registry, grpc::ServerCompletionQueue* queue);
  ~StreamCall() override;

 private:
  void Accept(void* tag) override;
  std::shared_ptr<ServerCall> Another() override;
  void Pump() override;
  void CancelAlarms() override HOTROW_REQUIRES(mutex_);

  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnWatch(bool ok);
  void OnFinished(bool ok);
  // Takes up the waiting message when there is room for it.
  bool Admit(grpc::ByteBuffer* message) HOTROW_REQUIRES(mutex_);
  // Hands an admitted message to the handler.
  void Work(const grpc::ByteBuffer& message);
  void TakeReply(int64_t request_bytes, grpc::ByteBuffer reply);
  // Takes the next reply to be written.
  bool TakeOutgoing(grpc::ByteBuffer* message) HOTROW_REQUIRES(mutex_);
  void Watch() HOTROW_REQUIRES(mutex_);
  // For how long a reply may wait to be taken now.
  std::chrono::milliseconds Patience() const;
  // Returns the bytes to be given back.
  int64_t DropReplies() HOTROW_REQUIRES(mutex_);
  bool ReadIsDue() const HOTROW_REQUIRES(mutex_);
  bool FinishIsDue() const HOTROW_REQUIRES(mutex_);

  StreamHandler* const handler_;
  const std::shared_ptr<StreamShared> shared_;  // a late reply may outlive the server
  const StreamLimits& limits_;
  ByteStream stream_{&context_};
  grpc::ByteBuffer incoming_;  // loop only

  std::optional<grpc::ByteBuffer> waiting_ HOTROW_GUARDED_BY(mutex_);  // read, not admitted
  std::deque<grpc::ByteBuffer> outgoing_ HOTROW_GUARDED_BY(mutex_);
  int64_t unanswered_ HOTROW_GUARDED_BY(mutex_) = 0;
  int64_t held_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;  // taken from the memory
  int64_t writing_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool reading_ HOTROW_GUARDED_BY(mutex_) = false;
  bool reads_ended_ HOTROW_GUARDED_BY(mutex_) = false;
  bool writing_ HOTROW_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point write_began_ HOTROW_GUARDED_BY(mutex_);
  bool watching_ HOTROW_GUARDED_BY(mutex_) = false;
  bool finishing_ HOTROW_GUARDED_BY(mutex_) = false;

  MemberTag<StreamCall> read_tag_{this, &StreamCall::OnRead};
  MemberTag<StreamCall> write_tag_{this, &StreamCall::OnWritten};
  grpc::Alarm watch_alarm_;
  MemberTag<StreamCall> watch_tag_{this, &StreamCall::OnWatch};
  MemberTag<StreamCall> finish_tag_{this, &StreamCall::OnFinished};
};

}  // namespace hotrow
