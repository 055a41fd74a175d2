#include "server/rpc/scan_call.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <utility>

#include "proto/wire/status_codec.h"

namespace hotrow {

ScanCall::ScanCall(CallEnvironment* environment, grpc::ServerCompletionQueue* queue)
    : ServerCall(environment->registry, queue),
      environment_(environment),
      metrics_(environment->metrics) {}

void ScanCall::Accept(void* tag) {
  environment_->parameters.RequestScan(&context_, &request_, &writer_, queue_, queue_, tag);
}

std::shared_ptr<ServerCall> ScanCall::Another() {
  return std::make_shared<ScanCall>(environment_, queue_);
}

void ScanCall::SetResult(const absl::Status& status) {
  if (wire::FromStatus(status).kind == wire::ErrorKind::kOverloaded) metrics_->CountOverload();
  if (!result_.has_value()) result_ = wire::ToGrpcStatus(status);
}

void ScanCall::Begin() {
  begun_ = true;
  started_ = metrics_->Begin(Method::kScan);
  v1::ScanRequest request;
  grpc::ProtoBufferReader reader(&request_);
  const bool parsed = request.ParseFromZeroCopyStream(&reader);
  if (!parsed) {
    MutexLock lock(mutex_);
    SetResult(
        wire::MakeError(wire::ErrorKind::kInvalidArgument, "ScanRequest is not a valid message"));
    return;
  }
  {
    MutexLock lock(mutex_);
    asking_ = true;
    step_began_ = started_;
  }
  auto self = std::static_pointer_cast<ScanCall>(shared_from_this());
  environment_->shard->Scan(request.table_id(), request.batch_rows(), request.with_state(),
                            [self](absl::StatusOr<std::unique_ptr<ScanCursor>> cursor) {
                              self->TakeCursor(std::move(cursor));
                            });
}

void ScanCall::TakeCursor(absl::StatusOr<std::unique_ptr<ScanCursor>> cursor) {
  RpcMetrics::Time began;
  {
    MutexLock lock(mutex_);
    began = step_began_;
    KeepCursor(std::move(cursor));
    Wake();
  }
  CountStep(began, {.step = "collect"});
}

void ScanCall::KeepCursor(absl::StatusOr<std::unique_ptr<ScanCursor>> cursor) {
  asking_ = false;
  if (cursor.ok()) {
    cursor_ = *std::move(cursor);
  } else {
    SetResult(cursor.status());
  }
}

void ScanCall::AskForBatch() {
  auto self = std::static_pointer_cast<ScanCall>(shared_from_this());
  // Stable without the lock: the cursor is only dropped when nothing is being asked.
  ScanCursor* cursor = nullptr;
  {
    MutexLock lock(mutex_);
    cursor = cursor_.get();
    step_began_ = std::chrono::steady_clock::now();
  }
  cursor->Next([self](absl::StatusOr<ScanReply> batch) { self->TakeBatch(std::move(batch)); });
}

void ScanCall::CountStep(RpcMetrics::Time began, const StepOutcome& outcome) {
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - began;
  if (!metrics_->slow_log().IsSlow(taken)) return;
  metrics_->CountSlow({.answered = std::chrono::system_clock::now(),
                       .method = Method::kScan,
                       .keys = outcome.rows,
                       .received_bytes = request_.Length(),
                       .sent_bytes = outcome.bytes,
                       .peer = origin().peer,
                       .trace_id = origin().trace_id,
                       .duration = taken,
                       .stages = {{outcome.step, taken}}});
}

void ScanCall::TakeBatch(absl::StatusOr<ScanReply> batch) {
  RpcMetrics::Time began;
  StepOutcome outcome{.step = "read", .rows = batch.ok() ? batch->message.row_count : 0};
  {
    MutexLock lock(mutex_);
    began = step_began_;
    KeepBatch(std::move(batch));
    outcome.bytes = batch_.has_value() ? batch_->Length() : 0;
    Wake();
  }
  CountStep(began, outcome);
}

void ScanCall::KeepBatch(absl::StatusOr<ScanReply> batch) {
  asking_ = false;
  if (!batch.ok()) {
    SetResult(batch.status());
  } else if (batch->message.row_count == 0) {
    SetResult(absl::OkStatus());
  } else {
    batch_ = wire::Encode(batch->message, std::move(batch->payload));
  }
}

void ScanCall::Pump() {
  if (!begun_) Begin();
  bool ask = false;
  bool write = false;
  bool finish = false;
  grpc::ByteBuffer message;
  grpc::Status status;
  std::unique_ptr<ScanCursor> ended;
  {
    MutexLock lock(mutex_);
    if (finishing_) return;
    if (end_.has_value() && !result_.has_value()) result_ = end_;
    const bool over = broken_ || result_.has_value();
    if (over && !asking_) ended = std::move(cursor_);
    finish = over && !writing_ && (broken_ || !batch_.has_value());
    write = !finish && !writing_ && batch_.has_value();
    if (write) {
      message.Swap(&*batch_);
      batch_.reset();
      writing_ = true;
    }
    ask = !over && !asking_ && cursor_ != nullptr && !batch_.has_value();
    asking_ = asking_ || ask;
    finishing_ = finish;
    status = result_.value_or(grpc::Status::CANCELLED);
  }
  if (write) {
    metrics_->AddSent(Method::kScan, message.Length());
    writer_.Write(message, write_tag_.Arm(shared_from_this()));
  }
  if (ask) AskForBatch();
  if (finish) Finish(status);
}

void ScanCall::Finish(const grpc::Status& status) {
  metrics_->End(Method::kScan, started_, {status.error_code(), request_.Length(), 0});
  writer_.Finish(status, finish_tag_.Arm(shared_from_this()));
}

void ScanCall::OnWritten(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) broken_ = true;
  }
  Advance();
}

void ScanCall::OnFinished(bool) {}

}  // namespace hotrow
