#include "server/rpc/stream_call.h"

#include <grpc/support/time.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "proto/wire/batch_codec.h"
#include "server/ops/log_fields.h"

namespace hotrow {
namespace {

using Clock = std::chrono::steady_clock;

nlohmann::json FieldsOf(const CallOrigin& origin) {
  nlohmann::json fields = {{"peer", origin.peer}};
  if (!origin.trace_id.empty()) fields["trace_id"] = origin.trace_id;
  return fields;
}

// What a request is charged with until its reply is there.
constexpr auto kReplyBytes = static_cast<int64_t>(wire::kMaxMessageBytes);

}  // namespace

StreamCall::StreamCall(StreamHandler* handler, std::shared_ptr<StreamShared> shared,
                       std::shared_ptr<CallRegistry> registry, grpc::ServerCompletionQueue* queue)
    : ServerCall(std::move(registry), queue),
      handler_(handler),
      shared_(std::move(shared)),
      limits_(shared_->limits) {}

StreamCall::~StreamCall() { shared_->memory.GiveBack(held_bytes_); }

void StreamCall::Accept(void* tag) { handler_->Accept({&context_, queue_, tag}, &stream_); }

std::shared_ptr<ServerCall> StreamCall::Another() {
  return std::make_shared<StreamCall>(handler_, shared_, registry_, queue_);
}

bool StreamCall::Admit(grpc::ByteBuffer* message) {
  if (!waiting_.has_value() || broken_ || finishing_ || end_.has_value()) return false;
  const int64_t bytes = static_cast<int64_t>(waiting_->Length()) + kReplyBytes;
  if (unanswered_ >= limits_.max_requests) return false;
  if (held_bytes_ > 0 && held_bytes_ + bytes > limits_.max_bytes) return false;
  if (!shared_->memory.TryTake(bytes, held_bytes_, shared_from_this())) return false;
  ++unanswered_;
  held_bytes_ += bytes;
  message->Swap(&*waiting_);
  waiting_.reset();
  return true;
}

bool StreamCall::ReadIsDue() const {
  return !reading_ && !reads_ended_ && !broken_ && !finishing_ && !end_.has_value() &&
         !waiting_.has_value();
}

bool StreamCall::FinishIsDue() const {
  if (finishing_ || writing_) return false;
  if (broken_) return true;
  const bool last_read = reads_ended_ && !waiting_.has_value();
  return (last_read || end_.has_value()) && unanswered_ == 0 && outgoing_.empty();
}

bool StreamCall::TakeOutgoing(grpc::ByteBuffer* message) {
  if (writing_ || finishing_ || outgoing_.empty()) return false;
  message->Swap(&outgoing_.front());
  outgoing_.pop_front();
  writing_bytes_ = static_cast<int64_t>(message->Length());
  writing_ = true;
  write_began_ = Clock::now();
  if (!watching_) Watch();
  return true;
}

int64_t StreamCall::DropReplies() {
  int64_t bytes = 0;
  for (const grpc::ByteBuffer& reply : outgoing_) bytes += static_cast<int64_t>(reply.Length());
  outgoing_.clear();
  held_bytes_ -= bytes;
  return bytes;
}

void StreamCall::Pump() {
  bool admitted = false;
  bool read = false;
  bool write = false;
  bool finish = false;
  int64_t freed = 0;
  grpc::ByteBuffer request;
  grpc::ByteBuffer reply;
  grpc::Status status;
  {
    MutexLock lock(mutex_);
    if (broken_) freed = DropReplies();
    admitted = Admit(&request);
    read = ReadIsDue();
    reading_ = reading_ || read;
    write = TakeOutgoing(&reply);
    finish = FinishIsDue();
    finishing_ = finishing_ || finish;
    if (finish) CancelAlarms();
    status = end_.value_or(grpc::Status::OK);
  }
  // Outside of the lock: a write may send a megabyte, and strands wait for the lock.
  if (write) stream_.Write(reply, write_tag_.Arm(shared_from_this()));
  // The next read starts before the work, so that bytes arrive meanwhile.
  if (read) stream_.Read(&incoming_, read_tag_.Arm(shared_from_this()));
  if (finish) stream_.Finish(status, finish_tag_.Arm(shared_from_this()));
  if (freed > 0) shared_->memory.GiveBack(freed);
  if (admitted) Work(request);
}

void StreamCall::OnRead(bool ok) {
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (ok) {
      waiting_.emplace().Swap(&incoming_);
    } else {
      reads_ended_ = true;
    }
  }
  Advance();
}

void StreamCall::Work(const grpc::ByteBuffer& message) {
  auto self = std::static_pointer_cast<StreamCall>(shared_from_this());
  const auto bytes = static_cast<int64_t>(message.Length());
  const CallOrigin& from = origin();
  handler_->Handle(message, from, [self = std::move(self), bytes](grpc::ByteBuffer reply) {
    self->TakeReply(bytes, std::move(reply));
  });
}

void StreamCall::TakeReply(int64_t request_bytes, grpc::ByteBuffer reply) {
  int64_t freed = request_bytes + kReplyBytes;
  {
    MutexLock lock(mutex_);
    --unanswered_;
    const bool dropped = gone() || finishing_;
    if (!dropped) {
      freed -= static_cast<int64_t>(reply.Length());
      outgoing_.emplace_back().Swap(&reply);
    }
    held_bytes_ -= freed;
    // While a write is outstanding its end will take up the next reply.
    if (!dropped && (!writing_ || waiting_.has_value())) Wake();
  }
  shared_->memory.GiveBack(freed);
}

void StreamCall::OnWritten(bool ok) {
  int64_t freed = 0;
  {
    MutexLock lock(mutex_);
    writing_ = false;
    freed = std::exchange(writing_bytes_, 0);
    held_bytes_ -= freed;
    if (!ok) broken_ = true;
  }
  shared_->memory.GiveBack(freed);
  Advance();
}

std::chrono::milliseconds StreamCall::Patience() const {
  return shared_->memory.is_short()
             ? std::min(limits_.max_write_time, limits_.max_write_time_when_short)
             : limits_.max_write_time;
}

// One alarm outlives many writes: when it rings, the write that is outstanding then is looked at.
// The memory may have become short since the last look.
void StreamCall::Watch() {
  if (gone()) return;
  watching_ = true;
  const auto period = std::min(limits_.max_write_time, limits_.max_write_time_when_short);
  const auto left = write_began_ + limits_.max_write_time - Clock::now();
  const auto wait_ms =
      std::chrono::ceil<std::chrono::milliseconds>(std::min<Clock::duration>(left, period)).count();
  watch_alarm_.Set(
      queue_,
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(wait_ms, GPR_TIMESPAN)),
      watch_tag_.Arm(shared_from_this()));
}

void StreamCall::OnWatch(bool ok) {
  const std::chrono::milliseconds patience = Patience();
  {
    MutexLock lock(mutex_);
    watching_ = false;
    if (!ok || !writing_) return;
    if (Clock::now() < write_began_ + patience) return Watch();
  }
  const LogFields fields(FieldsOf(origin()));
  SPDLOG_WARN("a stream of {} was cut: its client did not take a reply within {} ms{}",
              origin().peer, patience.count(),
              patience < limits_.max_write_time ? ", and others found no memory for theirs" : "");
  handler_->CountCut();
  context_.TryCancel();  // ends the write
}

void StreamCall::CancelAlarms() {
  if (watching_) watch_alarm_.Cancel();
}

void StreamCall::OnFinished(bool) {}

}  // namespace hotrow
