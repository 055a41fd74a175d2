#include "client/src/message_stream.h"

#include <utility>

namespace hotrow::client {

std::shared_ptr<MessageStream> MessageStream::Start(const std::shared_ptr<grpc::Channel>& channel,
                                                    const std::string& method,
                                                    grpc::CompletionQueue& queue,
                                                    Listener& listener) {
  std::shared_ptr<MessageStream> stream(new MessageStream(listener));
  stream->self_ = stream;
  grpc::GenericStub stub(channel);
  stream->call_ = stub.PrepareCall(&stream->context_, method, &queue);
  stream->Begin();
  stream->call_->StartCall(stream->start_tag_.Starting());
  return stream;
}

bool MessageStream::Begin() {
  MutexLock lock(mutex_);
  if (broken_) return false;
  ++operations_;
  return true;
}

void MessageStream::Broken() {
  MutexLock lock(mutex_);
  broken_ = true;
}

void MessageStream::End() {
  {
    MutexLock lock(mutex_);
    if (--operations_ > 0 || !broken_) return;
  }
  call_->Finish(&status_, finish_tag_.Starting());
}

void MessageStream::Write(const grpc::ByteBuffer& message) {
  if (Begin()) call_->Write(message, write_tag_.Starting());
}

void MessageStream::Read() {
  if (Begin()) call_->Read(&incoming_, read_tag_.Starting());
}

void MessageStream::OnStarted(bool ok) {
  if (ok) {
    Read();
    listener_.OnOpen(*this);
  } else {
    Broken();
  }
  End();
}

void MessageStream::OnRead(bool ok) {
  if (ok) {
    grpc::ByteBuffer message;
    message.Swap(&incoming_);
    Read();
    listener_.OnMessage(*this, message);
  } else {
    Broken();
    Cancel();
  }
  End();
}

void MessageStream::OnWritten(bool ok) {
  if (ok) {
    listener_.OnWritten(*this);
  } else {
    Broken();
    Cancel();
  }
  End();
}

void MessageStream::OnFinished(bool) {
  const std::shared_ptr<MessageStream> self = std::move(self_);
  listener_.OnClosed(*this, status_);
}

}  // namespace hotrow::client
