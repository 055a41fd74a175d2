// One bidirectional gRPC stream of encoded messages, from its start to its end.
//
// Thread safety: Write and Cancel from any thread; the listener is called on the completion thread.
// Ownership: a stream keeps itself alive until it has closed. The listener must outlive OnClosed.
// Bounds: one write at a time (the next after OnWritten); the reader is always on. Errors: OnClosed
// comes exactly once, after which nothing more is called.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "client/src/completion_thread.h"
#include "kernels/base/mutex.h"

namespace hotrow::client {

class MessageStream : public std::enable_shared_from_this<MessageStream> {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnOpen(MessageStream& stream) = 0;  // writes may begin
    virtual void OnMessage(MessageStream& stream, const grpc::ByteBuffer& message) = 0;
    virtual void OnWritten(MessageStream& stream) = 0;
    virtual void OnClosed(MessageStream& stream, const grpc::Status& status) = 0;
  };

  static std::shared_ptr<MessageStream> Start(const std::shared_ptr<grpc::Channel>& channel,
                                              const std::string& method,
                                              grpc::CompletionQueue& queue, Listener& listener);

  // Dropped when the stream has broken: OnClosed tells.
  void Write(const grpc::ByteBuffer& message);
  void Cancel() { context_.TryCancel(); }

 private:
  struct Tag final : CompletionTag {
    Tag(MessageStream& owner, void (MessageStream::*handler)(bool))
        : stream(owner), method(handler) {}
    void Done(bool ok) override { (stream.*method)(ok); }
    MessageStream& stream;
    void (MessageStream::*method)(bool);
  };

  explicit MessageStream(Listener& listener) : listener_(listener) {}
  bool Begin() HOTROW_EXCLUDES(mutex_);  // counts an operation in; false when broken
  void Read();
  void Broken();
  void End() HOTROW_EXCLUDES(mutex_);  // counts an operation out, and finishes after the last
  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);

  Listener& listener_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
  Tag start_tag_{*this, &MessageStream::OnStarted};
  Tag read_tag_{*this, &MessageStream::OnRead};
  Tag write_tag_{*this, &MessageStream::OnWritten};
  Tag finish_tag_{*this, &MessageStream::OnFinished};

  Mutex mutex_;
  int operations_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool broken_ HOTROW_GUARDED_BY(mutex_) = false;
  std::shared_ptr<MessageStream> self_;  // until closed: gRPC holds addresses of the tags
};

}  // namespace hotrow::client
