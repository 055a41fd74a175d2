#include "server/shard/partition_set.h"

namespace hotrow {

const PushWindow* Partition::FindWindow(uint64_t session) const {
  const auto found = windows_.find(session);
  return found == windows_.end() ? nullptr : &found->second;
}

PartitionSet::PartitionSet(const StrandMap& map, int strand) : partitions_(map.partitions()) {
  kept_answers_.max_extra_bytes /= map.strands();
  for (uint32_t partition = 0; partition < map.partitions(); ++partition) {
    if (map.Of(partition) != strand) continue;
    partitions_[partition] = std::make_unique<Partition>(kept_answers_);
  }
}

void PartitionSet::Forget(uint64_t session) {
  for (const auto& partition : partitions_) {
    if (partition != nullptr) partition->Forget(session);
  }
}

}  // namespace hotrow
