// UnaryCall: one request, one reply, worked on by a pool thread because it may wait for a strand.
//
// Thread safety, ownership: ServerCall's; a method outlives its calls. Bounds: the pool's queue;
// what finds it full is refused with kOverloaded. Errors: the status of the call, with a
// hotrow.v1.Error as detail.

#pragma once

#include <grpcpp/support/async_unary_call.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/rpc/audit.h"
#include "server/rpc/services.h"

namespace hotrow {

template <typename Request, typename Response>
struct UnaryMethod {
  using Writer = grpc::ServerAsyncResponseWriter<Response>;

  Method method;
  // Asks gRPC for the next client.
  std::function<void(grpc::ServerContext*, Request*, Writer*, grpc::ServerCompletionQueue*, void*)>
      accept;
  // Does the work, on a pool thread.
  std::function<absl::Status(const Request&, Response*)> handle;
  // Of a method whose every call is a line of the log: the table that it names, or nothing.
  std::function<std::string(const Request&)> audited_table = nullptr;
};

template <typename Request, typename Response>
class UnaryCall final : public ServerCall {
 public:
  UnaryCall(const UnaryMethod<Request, Response>* method, CallEnvironment* environment,
            grpc::ServerCompletionQueue* queue)
      : ServerCall(environment->registry, queue),
        method_(method),
        environment_(environment),
        metrics_(environment->metrics) {}

 private:
  void Accept(void* tag) override { method_->accept(&context_, &request_, &writer_, queue_, tag); }
  std::shared_ptr<ServerCall> Another() override {
    return std::make_shared<UnaryCall>(method_, environment_, queue_);
  }

  // Finishes on the loop, because an operation must not start while the queue is shut down.
  void Pump() override {
    if (!begun_) Begin();
    {
      MutexLock lock(mutex_);
      if (finished_ || !result_.has_value()) return;
      finished_ = true;
    }
    // Nobody else touches the result and the response from here on.
    const auto sent = result_->ok() ? response_.ByteSizeLong() : 0;
    metrics_->End(method_->method, started_,
                  {result_->error_code(), request_.ByteSizeLong(), sent});
    writer_.Finish(response_, *result_, finish_tag_.Arm(shared_from_this()));
  }

  // Hands the work to the pool; the loop never waits.
  void Begin() {
    begun_ = true;
    started_ = metrics_->Begin(method_->method);
    auto self = std::static_pointer_cast<UnaryCall>(shared_from_this());
    if (environment_->pool->TrySubmit([self] { self->Work(); })) return;
    const absl::Status refused = wire::ToStatus({.kind = wire::ErrorKind::kOverloaded,
                                                 .message = "too many admin calls are waiting",
                                                 .retry_after_ms = 100});
    Tell(refused);
    MutexLock lock(mutex_);
    result_ = wire::ToGrpcStatus(refused);
  }

  void Work() {
    const absl::Status status = method_->handle(request_, &response_);
    Tell(status);
    MutexLock lock(mutex_);
    result_ = wire::ToGrpcStatus(status);
    Wake();
  }

  // Metrics and log.
  void Tell(const absl::Status& status) {
    const wire::ErrorKind kind = wire::FromStatus(status).kind;
    if (kind == wire::ErrorKind::kOverloaded) metrics_->CountOverload();
    if (method_->audited_table == nullptr) return;
    Audit({.method = method_->method,
           .table = method_->audited_table(request_),
           .origin = origin(),
           .code = NameOfCode(static_cast<size_t>(wire::CodeOf(kind)))});
  }

  void OnFinished(bool) {}

  const UnaryMethod<Request, Response>* const method_;
  CallEnvironment* const environment_;
  RpcMetrics* const metrics_;
  Request request_;
  Response response_;
  grpc::ServerAsyncResponseWriter<Response> writer_{&context_};
  RpcMetrics::Time started_;
  bool begun_ = false;                  // loop only
  std::optional<grpc::Status> result_;  // written once, under mutex_
  bool finished_ HOTROW_GUARDED_BY(mutex_) = false;
  MemberTag<UnaryCall> finish_tag_{this, &UnaryCall::OnFinished};
};

}  // namespace hotrow
