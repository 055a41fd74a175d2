// Where a client gets the shard map from: any one of the addresses that it was given.
//
// Thread safety: pure functions. Errors: Unavailable, naming each address and its cause, when none
// answers by the deadline; at once, when all refuse for reasons that time does not heal.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/src/time_point.h"
#include "hotrow/client.h"
#include "proto/wire/shard_map.h"

namespace hotrow::client {

// The address to dial for an address of the shard map.
std::string DialTarget(const ConnectOptions& options, const std::string& address);

// What one shard says of the cluster.
struct Cluster {
  wire::ShardMap map;
  std::string id;  // empty when the shard has no data directory
};

absl::StatusOr<Cluster> FetchShardMap(const ConnectOptions& options, TimePoint deadline);

}  // namespace hotrow::client
