// Where a client gets the shard map from: any one of the addresses that it was given.
//
// Thread safety: pure functions. Errors: Unavailable, naming each address and its cause, when none
// answers by the deadline; a refusal that time does not heal, at once.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/src/time_point.h"
#include "hotrow/client.h"
#include "proto/wire/shard_map.h"

namespace hotrow::client {

// The address to dial for an address of the shard map.
std::string DialTarget(const ConnectOptions& options, const std::string& address);

absl::StatusOr<wire::ShardMap> FetchShardMap(const ConnectOptions& options, TimePoint deadline);

}  // namespace hotrow::client
