// The versioned partition -> shard assignment, as a value.
//
// Thread safety: immutable after construction. Errors: FromProto refuses a map that is not
// complete.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/key.h"

namespace hotrow::v1 {
class ShardMap;  // generated
}

namespace hotrow::wire {

inline constexpr uint32_t kDefaultPartitions = 64;
inline constexpr uint32_t kMaxPartitions = 1u << kMaxPartitionBits;

// Shard of partition p of P over S shards: floor(p * S / P).
constexpr uint32_t StaticOwner(uint32_t partition, uint32_t partitions, uint32_t shards) {
  return static_cast<uint32_t>(uint64_t{partition} * shards / partitions);
}

class ShardMap {
 public:
  // The static map. InvalidArgument unless `partitions` is a power of two in 1 .. kMaxPartitions
  // and there are 1 .. partitions shards.
  static absl::StatusOr<ShardMap> Static(std::vector<std::string> shards, uint32_t partitions);
  static absl::StatusOr<ShardMap> FromProto(const v1::ShardMap& proto);
  void ToProto(v1::ShardMap* proto) const;

  uint64_t version() const { return version_; }
  uint64_t timeline() const { return timeline_; }
  uint32_t partitions() const { return partitions_; }
  int partition_bits() const { return partition_bits_; }
  const std::vector<std::string>& shards() const { return shards_; }
  uint32_t owner(uint32_t partition) const { return owners_[partition]; }
  uint32_t PartitionOf(Key key, uint64_t table_salt) const {
    return PartitionOfHash(HashKey(key, table_salt), partition_bits_);
  }

 private:
  ShardMap() = default;

  uint64_t version_ = 1;
  uint64_t timeline_ = 1;
  uint32_t partitions_ = kDefaultPartitions;
  int partition_bits_ = 6;
  std::vector<std::string> shards_;
  std::vector<uint32_t> owners_;  // (partitions)
};

}  // namespace hotrow::wire
