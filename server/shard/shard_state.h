// What the strands of a shard share, and what each of them owns.
//
// Thread safety: ShardState from any thread (constant, or synchronised by itself); StrandState in
// tasks of its strand only. Ownership: the memory budget is shared with scans, which may outlive
// the shard.

#pragma once

#include <cstdint>
#include <memory>

#include "kernels/base/memory_budget.h"
#include "server/shard/partition_set.h"
#include "server/shard/session_table.h"
#include "server/shard/shard.h"
#include "server/shard/shard_counters.h"
#include "server/shard/strand_map.h"
#include "server/shard/strand_tables.h"
#include "server/shard/table_directory.h"
#include "server/shard/table_scan.h"

namespace hotrow {

struct ShardState {
  ShardState(const ShardOptions& shard_options, uint64_t start_id)
      : options(shard_options),
        server_start_id(start_id),
        budget(std::make_shared<MemoryBudget>(options.memory_budget_bytes)),
        strand_map(options.map, options.shard, options.strands),
        sessions({options.max_sessions, options.session_idle,
                  SessionsWhoseRingsFit(strand_map.owned_partitions())}),
        tables({.assigns_ids = options.map.owner(0) == options.shard,
                .slots_per_set = options.slots_per_set}) {}

  // Whether a request was routed by the map that this shard goes by.
  bool SameMap(uint64_t timeline, uint64_t map_version) const {
    return timeline == options.map.timeline() && map_version == options.map.version();
  }

  const ShardOptions options;
  const uint64_t server_start_id;  // also the owner epoch of this process life
  const std::shared_ptr<MemoryBudget> budget;
  const StrandMap strand_map;
  ShardCounters counters;
  SessionTable sessions;
  TableDirectory tables;
  ScanSet scans;
};

struct StrandState {
  StrandState(ShardState& shard_state, int index)
      : shard(shard_state), partitions(shard.strand_map, index), tables(*shard.budget) {}

  ShardState& shard;
  PartitionSet partitions;
  StrandTables tables;
};

}  // namespace hotrow
