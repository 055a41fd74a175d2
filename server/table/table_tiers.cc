#include "server/table/table_tiers.h"

#include <fmt/format.h>

#include <utility>

#include "proto/wire/status_codec.h"
#include "server/tiers/rocksdb_tier.h"

namespace hotrow {
namespace {

// Address space is reserved for what a table can come to hold: the keys of a closed one at half of
// its slots, which leaves room for any unevenness, or whatever the budget allows.
int64_t MaxSlots(const TableOptions& options) {
  constexpr int64_t kMost = RowStoreOptions{}.max_slots;
  if (options.max_slots != 0) return options.max_slots;
  if (options.num_embeddings == 0 || options.num_embeddings > uint64_t{kMost} / 4) return kMost;
  return 2 * static_cast<int64_t>(options.num_embeddings) + 64 * options.slots_per_set;
}

absl::Status NoStore(const std::string& table, const Result& result) {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kInternal;
  error.message = fmt::format("table '{}': {}", table, result.message());
  error.table = table;
  if (result.code() == Code::kResourceExhausted) {
    error.kind = wire::ErrorKind::kCapacityFull;
    error.hint = "raise the shard's memory budget or drop a table";
  } else if (result.code() == Code::kUnavailable) {
    error.kind = wire::ErrorKind::kCapacityFull;
    error.hint = "drop a table, or raise the limit of address space (ulimit -v)";
  }
  return wire::ToStatus(error);
}

absl::StatusOr<std::unique_ptr<RowStore>> MakeStore(const TableOptions& options, FullPolicy policy,
                                                    MemoryBudget& budget) {
  RowStoreOptions store_options;
  store_options.layout = options.layout();
  store_options.table_salt = options.table_salt;
  store_options.slots_per_set = options.slots_per_set;
  store_options.max_slots = MaxSlots(options);
  store_options.full_policy = policy;
  auto store = RowStore::Create(store_options, budget);
  if (!store.ok()) return NoStore(options.name, store.result());
  return *std::move(store);
}

FullPolicy PolicyAbove(bool another_tier) {
  return another_tier ? FullPolicy::kEvictLowestScore : FullPolicy::kRefuse;
}

}  // namespace

absl::StatusOr<TierParts> MakeTiers(const TableOptions& options, const TierSupply& supply) {
  TierParts parts;
  auto hot = MakeStore(options, PolicyAbove(supply.has_lower_tier()), supply.hot);
  if (!hot.ok()) return hot.status();
  parts.hot = *std::move(hot);
  if (supply.warm != nullptr) {
    const bool lowest = supply.store == nullptr;
    auto warm = MakeStore(options, PolicyAbove(!lowest), *supply.warm);
    if (!warm.ok()) return warm.status();
    parts.warm = std::make_unique<RowStoreTier>(
        "warm", *std::move(warm),
        lowest ? RowStoreTier::Place::kLowest : RowStoreTier::Place::kAboveOthers);
  }
  if (supply.store != nullptr) {
    parts.cold =
        std::make_unique<RocksdbTier>(*supply.store, *supply.queue,
                                      RocksdbTier::Options{.table = options.cold_table(),
                                                           .layout = options.layout(),
                                                           .partition_bits = supply.partition_bits,
                                                           .partitions = supply.partitions});
  }
  return parts;
}

}  // namespace hotrow
