// The shards of a cluster, each at the address that serves its admin calls: its admin listener
// where it has one, else its own address.
//
// Thread safety: one thread. Ownership: a shard keeps its connection. Errors: one a shard, typed
// and naming it; a connection that leads to another shard than the one that was meant is an error,
// never used: a loopback address of another machine is one of this machine too.

#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/ctl/commands.h"
#include "hotrow/v1/admin_service.grpc.pb.h"

namespace hotrow::ctl {

struct AdminShard {
  uint32_t shard = 0;
  std::string address;           // of the shard map
  uint64_t partitions = 0;       // that are its own, by the map of the first one that was asked
  std::string admin;             // what is dialled
  absl::Status status;           // why `stub` is null
  v1::GetShardMapResponse says;  // of itself; empty when it did not answer
  std::unique_ptr<v1::AdminService::Stub> stub;
};

// The shard behind arguments.admin when that is given, else all shards in the order of their
// numbers. An error when not even the list of shards can be had.
absl::StatusOr<std::vector<AdminShard>> FindAdminShards(const Arguments& arguments);
// The one of that number, connected.
absl::StatusOr<AdminShard> FindAdminShard(const Arguments& arguments, uint32_t shard);

// `status` of a call to `shard`, with its name.
absl::Status Named(const grpc::Status& status, const AdminShard& shard);
void SetDeadline(const Arguments& arguments, grpc::ClientContext& context);

// Where the admin calls of the shard at `address` go that says `admin_address` of itself. One that
// listens on every address is dialled where the shard is.
std::string AdminTarget(const std::string& address, const std::string& admin_address);

}  // namespace hotrow::ctl
