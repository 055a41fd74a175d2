// What every call of this server shares: the services and the parts that do the work.
//
// Thread safety: set up before the first call is accepted, constant afterwards; the members lock
// for themselves. Ownership: RpcServer owns it; the shard and the metrics outlive every reply.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hotrow/v1/admin_service.grpc.pb.h"
#include "hotrow/v1/parameter_service.grpc.pb.h"
#include "server/ops/rpc_metrics.h"
#include "server/rpc/server_call.h"
#include "server/runtime/thread_pool.h"
#include "server/shard/shard.h"

namespace hotrow {

// Generated services, so that reflection lists them; the data methods take and give bytes, which
// proto/wire decodes and encodes.
using ParameterPlane =
    v1::ParameterService::WithRawMethod_Pull<v1::ParameterService::WithRawMethod_Push<
        v1::ParameterService::WithRawMethod_Scan<v1::ParameterService::WithAsyncMethod_OpenSession<
            v1::ParameterService::WithAsyncMethod_CloseSession<v1::ParameterService::Service>>>>>;
using AdminPlane = v1::AdminService::AsyncService;

struct CallEnvironment {
  Shard* shard = nullptr;
  RpcMetrics* metrics = nullptr;
  ThreadPool* pool = nullptr;
  std::shared_ptr<CallRegistry> registry;
  ParameterPlane parameters;
  AdminPlane admin;           // beside the parameters
  AdminPlane admin_only;      // on the admin listener, when there is one
  std::string admin_address;  // of that listener, empty when there is none
  std::string cluster_id;
  std::function<void()> on_drain;  // tells health checks; called on a pool thread
};

}  // namespace hotrow
