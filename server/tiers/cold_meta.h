// What the cold store keeps of the shard itself, under partition 0xffff:
//
//   'R' table (u32) partition (u16)   number of stored rows (i64)
//   'L' partition (u16)               LSN of the last mutation written (u64)
//   'F' name                          a fact of the shard, any bytes
//   'V'                               format version (u32)
//
// Numbers in keys are big-endian, in values little-endian.
//
// Thread safety: a value. Ownership: owns what it has read.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace hotrow {

inline constexpr uint32_t kColdFormat = 1;

std::string RowsKey(uint32_t table, uint16_t partition);
std::string LsnKey(uint16_t partition);
std::string FactKey(std::string_view name);
std::string FormatKey();
// The first key of the metadata: everything from here on is.
std::string MetaBegin();

// A number as a value, and back; false when the value has another length.
template <typename Number>
std::string NumberValue(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}
template <typename Number>
bool NumberOf(std::string_view value, Number* number) {
  if (value.size() != sizeof(*number)) return false;
  value.copy(reinterpret_cast<char*>(number), sizeof(*number));
  return true;
}

struct ColdMeta {
  // Key of a number of rows.
  static uint64_t Place(uint32_t table, uint32_t partition) {
    return uint64_t{table} << 16 | partition;
  }

  absl::flat_hash_map<uint64_t, int64_t> rows;  // by Place()
  std::vector<uint64_t> lsns;                   // (partitions)
  uint32_t format = 0;                          // 0: the store is new

  // Takes an entry in. False when it cannot be read.
  bool Read(std::string_view key, std::string_view value);
};

}  // namespace hotrow
