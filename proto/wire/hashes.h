// Hashes that are pinned for ever: routing, string keys, sessions and the content of a sub-push.
// proto/wire/test_vectors.json holds values of each, for every implementation.
//
// Thread safety: pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/base/key.h"
#include "proto/wire/batch_codec.h"

namespace hotrow::wire {

// XXH64(name, 0).
uint64_t TableSalt(std::string_view table_name);

// XXH64(u32le(feature.size()) + feature + value, 0): the feature's name is part of the key, so
// equal values of two features are different keys, and ("ab", "c") differs from ("a", "bc").
Key HashString(std::string_view feature, std::string_view value);

// XXH64(client_uid, seed = restart_count), 0 mapped to 1.
uint64_t SessionId(std::span<const std::byte> client_uid, uint64_t restart_count);

// XXH3-64: the payload_hash of a message whose payload is `bytes`.
uint64_t PayloadHash(std::span<const std::byte> bytes);

// Content of a sub-push: XXH3-64 over the concatenation of
//   u8 operation, u32 table count, per table {u32 table_id, u32 key_count, u32 dim, u64 step, f32
//   learning_rate}, then the sub-push's part of the payload;
// all little-endian, no padding. Binds the number (session, partition, sequence) to its bytes.
uint64_t ContentHash(const SubPush& sub_push, const Payload& part);

}  // namespace hotrow::wire
