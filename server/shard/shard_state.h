// What the strands of a shard share, and what each of them owns.
//
// Thread safety: ShardState from any thread (constant, or synchronised by itself); StrandState in
// tasks of its strand only. Ownership: the memory budget and the cold store are shared with scans,
// which may outlive the shard.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/base/memory_budget.h"
#include "server/shard/partition_set.h"
#include "server/shard/session_table.h"
#include "server/shard/shard.h"
#include "server/shard/shard_counters.h"
#include "server/shard/strand_map.h"
#include "server/shard/strand_tables.h"
#include "server/shard/table_directory.h"
#include "server/shard/table_scan.h"
#include "server/tiers/cold_store.h"

namespace hotrow {

struct ShardState {
  // `cold` may be null: no cold tier.
  ShardState(const ShardOptions& shard_options, uint64_t start_id, std::shared_ptr<ColdStore> cold)
      : options(shard_options),
        server_start_id(start_id),
        budget(std::make_shared<MemoryBudget>(options.memory_budget_bytes)),
        warm_budget(options.warm_budget_bytes),
        store(std::move(cold)),
        strand_map(options.map, options.shard, options.strands),
        sessions({options.max_sessions, options.session_idle,
                  SessionsWhoseRingsFit(strand_map.owned_partitions())}),
        tables({.assigns_ids = options.map.owner(0) == options.shard,
                .slots_per_set = options.slots_per_set,
                .max_slots = options.max_slots}) {}

  // Whether a request was routed by the map that this shard goes by.
  bool SameMap(uint64_t timeline, uint64_t map_version) const {
    return timeline == options.map.timeline() && map_version == options.map.version();
  }

  const ShardOptions options;
  const uint64_t server_start_id;              // also the owner epoch of this process life
  const std::shared_ptr<MemoryBudget> budget;  // of the hot tier
  MemoryBudget warm_budget;                    // limit 0: no warm tier
  const std::shared_ptr<ColdStore> store;      // null: no cold tier
  const StrandMap strand_map;
  ShardCounters counters;
  SessionTable sessions;
  TableDirectory tables;
  ScanSet scans;
};

// What the tables of a strand draw from.
TierSupply SupplyOf(ShardState& shard, int strand);

struct StrandState {
  StrandState(ShardState& shard_state, int index)
      : shard(shard_state),
        partitions(shard.strand_map, index),
        tables(SupplyOf(shard, index), shard.options.write_behind) {
    if (shard.store != nullptr) {
      partitions.ForEach([&](uint32_t number, Partition& partition) {
        partition.ContinueFrom(shard.store->Lsn(number));
      });
    }
  }

  ShardState& shard;
  PartitionSet partitions;
  StrandTables tables;
};

}  // namespace hotrow
