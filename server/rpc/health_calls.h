// The two methods of grpc.health.v1.Health, on the event loops of the server: gRPC's own health
// service brings threads that take turns at polling the sockets and hand each message on, which
// doubles the time of a small pull.
//
// Thread safety, ownership: ServerCall's; the service and the table outlive the calls.

#pragma once

#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>
#include <optional>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/health_table.h"
#include "server/rpc/server_call.h"

namespace hotrow {

using HealthService = grpc::health::v1::Health::AsyncService;

struct HealthEnvironment {
  HealthService service;
  HealthTable table;
  std::shared_ptr<CallRegistry> registry;
};

// One answer. NOT_FOUND for a service that is not known, as the protocol wants.
class HealthCheckCall final : public ServerCall {
 public:
  HealthCheckCall(HealthEnvironment* environment, grpc::ServerCompletionQueue* queue)
      : ServerCall(environment->registry, queue), environment_(environment) {}

 private:
  void Accept(void* tag) override;
  std::shared_ptr<ServerCall> Another() override;
  void Pump() override;
  void OnFinished(bool) {}

  HealthEnvironment* const environment_;
  grpc::health::v1::HealthCheckRequest request_;
  grpc::ServerAsyncResponseWriter<grpc::health::v1::HealthCheckResponse> writer_{&context_};
  bool finished_ = false;  // loop only
  MemberTag<HealthCheckCall> finish_tag_{this, &HealthCheckCall::OnFinished};
};

// The health of now, and again at every change, until the client or the server ends.
class HealthWatchCall final : public ServerCall {
 public:
  HealthWatchCall(HealthEnvironment* environment, grpc::ServerCompletionQueue* queue)
      : ServerCall(environment->registry, queue), environment_(environment) {}

 private:
  void Accept(void* tag) override;
  std::shared_ptr<ServerCall> Another() override;
  void Pump() override;
  void OnWritten(bool ok);
  void OnFinished(bool) {}

  HealthEnvironment* const environment_;
  grpc::health::v1::HealthCheckRequest request_;
  grpc::ServerAsyncWriter<grpc::health::v1::HealthCheckResponse> writer_{&context_};
  // Loop only.
  bool watching_ = false;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<Health> told_;
  MemberTag<HealthWatchCall> write_tag_{this, &HealthWatchCall::OnWritten};
  MemberTag<HealthWatchCall> finish_tag_{this, &HealthWatchCall::OnFinished};
};

}  // namespace hotrow
