#include "server/shard/partition_set.h"

namespace hotrow {

const PushWindow* Partition::FindWindow(uint64_t session) const {
  const auto found = windows_.find(session);
  return found == windows_.end() ? nullptr : &found->second;
}

PartitionSet::PartitionSet(const wire::ShardMap& map, uint32_t shard)
    : partition_bits_(map.partition_bits()),
      owned_(map.partitions(), 0),
      partitions_(map.partitions()) {
  for (uint32_t partition = 0; partition < map.partitions(); ++partition) {
    if (map.owner(partition) != shard) continue;
    owned_[partition] = 1;
    partitions_[partition] = std::make_unique<Partition>(kept_answers_);
  }
}

void PartitionSet::Forget(uint64_t session) {
  for (const auto& partition : partitions_) {
    if (partition != nullptr) partition->Forget(session);
  }
}

}  // namespace hotrow
