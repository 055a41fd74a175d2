// Keys and the pinned hash that decides where a row lives.
//
// Thread safety: pure functions. Usable on host and device.
//
// One hash word per (table, key) serves three purposes, with disjoint bits:
//
//   bit 63          53      46 45                                     0
//      [ partition (0-10 bits) | digest (8 bits) | set (from the low bits) ]
//
// so that the keys of one partition still spread over all digests and sets. The values are pinned
// for the life of the product: proto/wire/test_vectors.json holds them for every implementation.

#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace hotrow {

// Any 64-bit pattern is a key. No value is reserved.
using Key = uint64_t;

// Partition bits at most: 1024 partitions.
inline constexpr int kMaxPartitionBits = 10;

// MurmurHash3's 64-bit finalizer (Appleby, public domain): a bijection of 64-bit words.
HOTROW_HOST_DEVICE constexpr uint64_t MixKey(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

// The hash word of a key. `table_salt` is XXH64(table name, 0).
HOTROW_HOST_DEVICE constexpr uint64_t HashKey(Key key, uint64_t table_salt) {
  return MixKey(key ^ table_salt);
}

// Partition of a hash word among 2^partition_bits, 0 <= partition_bits <= kMaxPartitionBits.
HOTROW_HOST_DEVICE constexpr uint32_t PartitionOfHash(uint64_t hash, int partition_bits) {
  return partition_bits == 0 ? 0 : static_cast<uint32_t>(hash >> (64 - partition_bits));
}

// Digest bits: the eight bits below the widest possible partition number.
HOTROW_HOST_DEVICE constexpr uint8_t DigestOfHash(uint64_t hash) {
  return static_cast<uint8_t>(hash >> 46);
}

}  // namespace hotrow
