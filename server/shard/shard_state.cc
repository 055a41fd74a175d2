#include "server/shard/shard_state.h"

namespace hotrow {

TierSupply SupplyOf(ShardState& shard, int strand) {
  TierSupply supply{.hot = *shard.budget};
  if (shard.warm_budget.limit_bytes() > 0) supply.warm = &shard.warm_budget;
  if (shard.store == nullptr) return supply;
  supply.store = shard.store.get();
  supply.partition_bits = shard.strand_map.partition_bits();
  for (uint32_t partition = 0; partition < shard.strand_map.partitions(); ++partition) {
    if (shard.strand_map.Of(partition) == strand) supply.partitions.push_back(partition);
  }
  return supply;
}

}  // namespace hotrow
