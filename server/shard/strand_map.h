// StrandMap: which partitions a shard owns, and which of its strands writes each.
//
// The owned partitions, in their order, are shared out in equal runs. A partition has one strand
// for the life of the process.
//
// Thread safety: constant after construction.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "proto/wire/shard_map.h"

namespace hotrow {

class StrandMap {
 public:
  static constexpr int kNotOwned = -1;

  // `strands` >= 1; as many as there are owned partitions are used.
  StrandMap(const wire::ShardMap& map, uint32_t shard, int strands);

  int strands() const { return strands_; }
  // kNotOwned for a partition of another shard. partition < partitions().
  int Of(uint32_t partition) const { return strand_of_[partition]; }
  bool Owns(uint32_t partition) const { return strand_of_[partition] != kNotOwned; }
  int64_t owned_partitions() const {
    return static_cast<int64_t>(strand_of_.size()) -
           std::count(strand_of_.begin(), strand_of_.end(), kNotOwned);
  }

  uint32_t partitions() const { return static_cast<uint32_t>(strand_of_.size()); }
  int partition_bits() const { return partition_bits_; }

 private:
  const int partition_bits_;
  std::vector<int16_t> strand_of_;  // (partitions)
  int strands_ = 1;
};

}  // namespace hotrow
