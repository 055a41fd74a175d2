#include "server/shard/strand_map.h"

#include <algorithm>

namespace hotrow {

StrandMap::StrandMap(const wire::ShardMap& map, uint32_t shard, int strands)
    : partition_bits_(map.partition_bits()), strand_of_(map.partitions(), kNotOwned) {
  std::vector<uint32_t> owned;
  for (uint32_t partition = 0; partition < map.partitions(); ++partition) {
    if (map.owner(partition) == shard) owned.push_back(partition);
  }
  strands_ = std::clamp(strands, 1, std::max(1, static_cast<int>(owned.size())));
  for (size_t i = 0; i < owned.size(); ++i) {
    strand_of_[owned[i]] = static_cast<int16_t>(i * static_cast<size_t>(strands_) / owned.size());
  }
}

}  // namespace hotrow
