#include "server/rpc/stream_call.h"

#include <utility>

namespace hotrow {

StreamCall::StreamCall(StreamHandler* handler, const StreamLimits& limits,
                       std::shared_ptr<CallRegistry> registry, grpc::ServerCompletionQueue* queue)
    : ServerCall(std::move(registry), queue), handler_(handler), limits_(limits) {}

void StreamCall::Accept(void* tag) { handler_->Accept({&context_, queue_, tag}, &stream_); }

std::shared_ptr<ServerCall> StreamCall::Another() {
  return std::make_shared<StreamCall>(handler_, limits_, registry_, queue_);
}

bool StreamCall::ReadIsDue() const {
  return !reading_ && !reads_ended_ && !broken_ && !finishing_ && !end_.has_value() &&
         unanswered_ < limits_.max_requests && held_bytes_ < limits_.max_bytes;
}

bool StreamCall::FinishIsDue() const {
  if (finishing_ || writing_) return false;
  if (broken_) return true;
  return (reads_ended_ || end_.has_value()) && unanswered_ == 0 && outgoing_.empty();
}

void StreamCall::Pump() {
  bool read = false;
  bool write = false;
  bool finish = false;
  grpc::ByteBuffer message;
  grpc::Status status;
  {
    MutexLock lock(mutex_);
    read = ReadIsDue();
    reading_ = reading_ || read;
    if (broken_) outgoing_.clear();
    write = !writing_ && !finishing_ && !outgoing_.empty();
    if (write) {
      message.Swap(&outgoing_.front());
      outgoing_.pop_front();
      writing_bytes_ = static_cast<int64_t>(message.Length());
      writing_ = true;
    }
    finish = FinishIsDue();
    finishing_ = finishing_ || finish;
    status = end_.value_or(grpc::Status::OK);
  }
  // Outside of the lock: a write may send a megabyte, and strands wait for the lock.
  if (write) stream_.Write(message, write_tag_.Arm(shared_from_this()));
  if (read) stream_.Read(&incoming_, read_tag_.Arm(shared_from_this()));
  if (finish) stream_.Finish(status, finish_tag_.Arm(shared_from_this()));
}

void StreamCall::OnRead(bool ok) {
  grpc::ByteBuffer message;
  message.Swap(&incoming_);
  const auto bytes = static_cast<int64_t>(message.Length());
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (ok) {
      ++unanswered_;
      held_bytes_ += bytes;
    } else {
      reads_ended_ = true;
    }
  }
  // The next read starts before the work, so that bytes arrive meanwhile.
  Advance();
  if (!ok) return;
  auto self = std::static_pointer_cast<StreamCall>(shared_from_this());
  handler_->Handle(message, [self = std::move(self), bytes](grpc::ByteBuffer reply) {
    self->TakeReply(bytes, std::move(reply));
  });
}

void StreamCall::TakeReply(int64_t request_bytes, grpc::ByteBuffer reply) {
  MutexLock lock(mutex_);
  --unanswered_;
  held_bytes_ -= request_bytes;
  if (gone() || finishing_) return;
  held_bytes_ += static_cast<int64_t>(reply.Length());
  outgoing_.emplace_back();
  outgoing_.back().Swap(&reply);
  // While a write is outstanding its end will take up the next reply.
  if (!writing_) Wake();
}

void StreamCall::OnWritten(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    held_bytes_ -= writing_bytes_;
    if (!ok) broken_ = true;
  }
  Advance();
}

void StreamCall::OnFinished(bool) {}

}  // namespace hotrow
