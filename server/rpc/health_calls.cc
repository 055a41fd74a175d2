#include "server/rpc/health_calls.h"

#include <utility>

namespace hotrow {
namespace {

using grpc::health::v1::HealthCheckResponse;

HealthCheckResponse ResponseOf(Health health) {
  HealthCheckResponse response;
  switch (health) {
    case Health::kUnknownService:
      response.set_status(HealthCheckResponse::SERVICE_UNKNOWN);
      break;
    case Health::kServing:
      response.set_status(HealthCheckResponse::SERVING);
      break;
    case Health::kNotServing:
      response.set_status(HealthCheckResponse::NOT_SERVING);
      break;
  }
  return response;
}

}  // namespace

void HealthCheckCall::Accept(void* tag) {
  environment_->service.RequestCheck(&context_, &request_, &writer_, queue_, queue_, tag);
}

std::shared_ptr<ServerCall> HealthCheckCall::Another() {
  return std::make_shared<HealthCheckCall>(environment_, queue_);
}

void HealthCheckCall::Pump() {
  if (std::exchange(finished_, true)) return;
  const Health health = environment_->table.Of(request_.service());
  void* const tag = finish_tag_.Arm(shared_from_this());
  if (health == Health::kUnknownService) {
    writer_.FinishWithError(
        grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no service " + request_.service()),
        tag);
  } else {
    writer_.Finish(ResponseOf(health), grpc::Status::OK, tag);
  }
}

void HealthWatchCall::Accept(void* tag) {
  environment_->service.RequestWatch(&context_, &request_, &writer_, queue_, queue_, tag);
}

std::shared_ptr<ServerCall> HealthWatchCall::Another() {
  return std::make_shared<HealthWatchCall>(environment_, queue_);
}

void HealthWatchCall::Pump() {
  // Before the first look, so that no change is missed.
  if (!std::exchange(watching_, true)) environment_->table.Watch(shared_from_this());
  if (writing_ || finished_) return;
  std::optional<grpc::Status> end;
  {
    MutexLock lock(mutex_);
    if (end_.has_value() || broken_) end = end_.value_or(grpc::Status::CANCELLED);
  }
  if (end.has_value()) {
    finished_ = true;
    return writer_.Finish(*end, finish_tag_.Arm(shared_from_this()));
  }
  const Health health = environment_->table.Of(request_.service());
  if (told_ == health) return;
  told_ = health;
  writing_ = true;
  writer_.Write(ResponseOf(health), write_tag_.Arm(shared_from_this()));
}

void HealthWatchCall::OnWritten(bool ok) {
  writing_ = false;
  if (!ok) {
    MutexLock lock(mutex_);
    broken_ = true;
  }
  Advance();
}

}  // namespace hotrow
