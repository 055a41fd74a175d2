// How the client words and types its own errors.
//
// Thread safety: pure functions. Errors: every status made here carries a wire::ErrorInfo payload,
// and what only a client can meet (fork, closed, refused keys) as payloads of its own.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "kernels/base/key.h"
#include "proto/wire/batch_codec.h"

namespace hotrow::client {

absl::Status InvalidInput(const std::string& table, std::string message, std::string hint = {});
absl::Status ForkedError();
absl::Status ClosedError();

// Adds shard and address to an error that a transport gave without them.
absl::Status NameShard(const absl::Status& status, uint32_t shard, const std::string& address);
void NameShard(wire::ErrorInfo& error, uint32_t shard, const std::string& address);

// Why a shard was not reached by a deadline. What it said itself, which names it already, keeps its
// kind and its hint; a transport's words become Unavailable.
absl::Status NotReached(const absl::Status& trouble, uint32_t shard, const std::string& address);

// Why the session of a push that can never be acknowledged is over.
absl::Status PushesCannotGoOn(wire::ErrorInfo cause);

// kCapacityFull of `table` with the keys that were not created.
absl::Status CapacityFull(const wire::ErrorInfo& first, std::span<const Key> refused_keys);

// Errors after which the same bytes may succeed on the same session.
bool IsTransient(wire::ErrorKind kind);

}  // namespace hotrow::client
