// How a row lies in the cold store.
//
//   key    partition (u16) | table id (u32) | row key (u64)      big-endian: sorts as a number
//   value  score (u32) | record (RowLayout) | checksum (u64)     little-endian
//
// The checksum is XXH3 over key and value before it, so that a row that lies under another's key is
// damage too. Partition 0xffff holds what is known of the shard itself (cold_meta.h).
//
// Thread safety: pure functions. Ownership: buffers are the caller's.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/key.h"

namespace hotrow {

inline constexpr uint16_t kMetaPartition = 0xffff;
inline constexpr size_t kColdKeyBytes = 14;
inline constexpr size_t kColdPrefixBytes = 6;  // partition and table
inline constexpr int64_t kColdValueOverhead = 12;

// Of a row's key and value, without what RocksDB adds to them.
inline constexpr int64_t ColdRowBytes(int64_t row_bytes) {
  return static_cast<int64_t>(kColdKeyBytes) + row_bytes + kColdValueOverhead;
}

using ColdKey = std::array<char, kColdKeyBytes>;

ColdKey EncodeColdKey(uint16_t partition, uint32_t table, Key key);
// The first key of a table in a partition, and the first behind its last.
std::string ColdPrefix(uint16_t partition, uint32_t table);
std::string ColdPrefixEnd(uint16_t partition, uint32_t table);
Key KeyOfColdKey(std::string_view key);
uint32_t TableOfColdKey(std::string_view key);

// Overwrites *value.
void EncodeColdValue(std::string_view key, uint32_t score, std::span<const std::byte> record,
                     std::string* value);

struct ColdValue {
  uint32_t score = 0;
  std::string_view record;
};
// False when length or checksum do not fit: the row is damaged.
bool DecodeColdValue(std::string_view key, std::string_view value, int64_t row_bytes,
                     ColdValue* out);
// Whether the checksum fits, whatever table the row is of.
bool IsIntact(std::string_view key, std::string_view value);

}  // namespace hotrow
