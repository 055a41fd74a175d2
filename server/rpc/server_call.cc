#include "server/rpc/server_call.h"

#include <grpc/support/time.h>

#include <utility>

#include "server/ops/trace_parent.h"

namespace hotrow {
namespace {

CallOrigin OriginOf(const grpc::ServerContext& context) {
  CallOrigin origin{.peer = context.peer(), .trace_id = {}};
  const auto header = context.client_metadata().find("traceparent");
  if (header != context.client_metadata().end()) {
    origin.trace_id = TraceIdOf({header->second.data(), header->second.size()});
  }
  return origin;
}

}  // namespace

bool CallRegistry::Add(const std::shared_ptr<ServerCall>& call) {
  std::optional<grpc::Status> ending;
  {
    MutexLock lock(mutex_);
    if (closed_) return false;
    calls_.emplace(call.get(), call);
    ending = ending_;
  }
  if (ending.has_value()) call->EndWith(*ending);
  return true;
}

void CallRegistry::Remove(const ServerCall* call) {
  {
    MutexLock lock(mutex_);
    calls_.erase(call);
  }
  removed_.NotifyAll();
}

void CallRegistry::EndAll(const grpc::Status& status,
                          std::chrono::steady_clock::time_point deadline) {
  {
    MutexLock lock(mutex_);
    ending_ = status;
  }
  for (const auto& call : Calls()) call->EndWith(status);
  MutexLock lock(mutex_);
  while (!calls_.empty() && removed_.WaitUntil(mutex_, deadline)) {
  }
}

std::vector<std::shared_ptr<ServerCall>> CallRegistry::Calls() {
  std::vector<std::shared_ptr<ServerCall>> alive;
  MutexLock lock(mutex_);
  alive.reserve(calls_.size());
  for (const auto& [raw, weak] : calls_) {
    if (auto call = weak.lock()) alive.push_back(std::move(call));
  }
  return alive;
}

void CallRegistry::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  for (const auto& call : Calls()) call->Close();
}

ServerCall::ServerCall(std::shared_ptr<CallRegistry> registry, grpc::ServerCompletionQueue* queue)
    : queue_(queue), registry_(std::move(registry)) {}

ServerCall::~ServerCall() { registry_->Remove(this); }

void ServerCall::Start() {
  context_.AsyncNotifyWhenDone(done_tag_.Arm(shared_from_this()));
  Accept(accept_tag_.Arm(shared_from_this()));
}

void ServerCall::OnAccepted(bool ok) {
  if (!ok || !registry_->Add(shared_from_this())) {
    // A call that no client has taken gets no done event.
    if (!ok) done_tag_.Disarm();
    return;
  }
  Another()->Start();
  origin_ = OriginOf(context_);
  Advance();
}

void ServerCall::OnDone(bool) {
  {
    MutexLock lock(mutex_);
    if (context_.IsCancelled()) broken_ = true;
  }
  Advance();
}

void ServerCall::OnWake(bool) {
  {
    MutexLock lock(mutex_);
    wake_pending_ = false;
  }
  Advance();
}

void ServerCall::Advance() {
  {
    MutexLock lock(mutex_);
    if (closed_) return;
  }
  Pump();
}

void ServerCall::Wake() {
  if (closed_ || wake_pending_) return;
  wake_pending_ = true;
  // Not "now": gRPC rounds a time up to the next millisecond and waits for it on its timer thread.
  alarm_.Set(queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC), wake_tag_.Arm(shared_from_this()));
}

void ServerCall::EndWith(grpc::Status status) {
  MutexLock lock(mutex_);
  if (!end_.has_value()) end_ = std::move(status);
  Wake();
}

void ServerCall::WakeUp() {
  MutexLock lock(mutex_);
  Wake();
}

void ServerCall::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  CancelAlarms();
}

}  // namespace hotrow
