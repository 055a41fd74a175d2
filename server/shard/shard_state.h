// ShardState: what the strand of a shard owns. One place, so that nobody else can touch it.
//
// Thread safety: strand only, but for the counters and what is constant. Ownership: owns all of it;
// the memory budget is shared with scans, which may outlive the shard.

#pragma once

#include <cstdint>
#include <memory>

#include "kernels/base/memory_budget.h"
#include "server/shard/partition_set.h"
#include "server/shard/session_table.h"
#include "server/shard/shard.h"
#include "server/shard/shard_counters.h"
#include "server/shard/table_scan.h"
#include "server/shard/table_set.h"

namespace hotrow {

struct ShardState {
  ShardState(const ShardOptions& shard_options, uint64_t start_id)
      : options(shard_options),
        server_start_id(start_id),
        budget(std::make_shared<MemoryBudget>(options.memory_budget_bytes)),
        partitions(options.map, options.shard),
        sessions({options.max_sessions, options.session_idle}),
        tables({.assigns_ids = options.map.owner(0) == options.shard,
                .slots_per_set = options.slots_per_set},
               *budget) {}

  // Whether a request was routed by the map that this shard goes by.
  bool SameMap(uint64_t timeline, uint64_t map_version) const {
    return timeline == options.map.timeline() && map_version == options.map.version();
  }

  const ShardOptions options;
  const uint64_t server_start_id;  // also the owner epoch of this process life
  const std::shared_ptr<MemoryBudget> budget;
  ShardCounters counters;
  PartitionSet partitions;
  SessionTable sessions;
  TableSet tables;
  ScanSet scans;
};

}  // namespace hotrow
