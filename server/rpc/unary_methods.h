// The unary methods of one listener, each bound to the shard.
//
// Thread safety: constant after construction. Ownership: outlives every call that Start() began.

#pragma once

#include <memory>

#include "server/rpc/services.h"
#include "server/rpc/unary_call.h"

namespace hotrow {

class UnaryMethods {
 public:
  // Of the data listener: sessions, and the admin methods of environment->admin.
  // Of the admin listener (kAdminOnly): those of environment->admin_only.
  enum class Listener : uint8_t { kData, kAdminOnly };
  UnaryMethods(CallEnvironment* environment, Listener listener);
  // Waits for one client of each method on `queue`; each call accepted starts the next.
  void Start(grpc::ServerCompletionQueue* queue) const;

 private:
  template <typename Request, typename Response>
  void StartOne(const UnaryMethod<Request, Response>& method,
                grpc::ServerCompletionQueue* queue) const;
  void BindSessions();
  void BindSlowCalls();
  // Refuses what only the admin listener serves.
  void RefuseAdminOnly();
  void BindTables();
  void BindOperations();
  // Methods of later versions, which are refused by name.
  void BindDeclaredOnly();

  CallEnvironment* const environment_;
  const Listener listener_;
  AdminPlane* const plane_;
  // Every method that waits for a strand or only reads, in the order of the protos.
  UnaryMethod<v1::OpenSessionRequest, v1::OpenSessionResponse> open_session_;
  UnaryMethod<v1::CloseSessionRequest, v1::CloseSessionResponse> close_session_;
  UnaryMethod<v1::CreateTableRequest, v1::CreateTableResponse> create_table_;
  UnaryMethod<v1::DescribeTableRequest, v1::DescribeTableResponse> describe_table_;
  UnaryMethod<v1::ListTablesRequest, v1::ListTablesResponse> list_tables_;
  UnaryMethod<v1::DropTableRequest, v1::DropTableResponse> drop_table_;
  UnaryMethod<v1::GetStatsRequest, v1::GetStatsResponse> get_stats_;
  UnaryMethod<v1::GetShardMapRequest, v1::GetShardMapResponse> get_shard_map_;
  UnaryMethod<v1::GetSlowCallsRequest, v1::GetSlowCallsResponse> get_slow_calls_;
  UnaryMethod<v1::DrainRequest, v1::DrainResponse> drain_;
  UnaryMethod<v1::CreateCheckpointRequest, v1::CreateCheckpointResponse> create_checkpoint_;
  UnaryMethod<v1::RestoreRequest, v1::RestoreResponse> restore_;
  UnaryMethod<v1::ReshardRequest, v1::ReshardResponse> reshard_;
};

}  // namespace hotrow
