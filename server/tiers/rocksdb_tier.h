// RocksdbTier: the cold tier of one table on one strand: the shard's ColdStore, seen through the
// rows that are on their way to it.
//
// Rows that are not dirty are there already and cost nothing to take in. A row that was found has
// kRowBelow set, and kRowDirty only while its newest version is not in the store yet.
//
// Thread safety and errors: as Tier. Ownership: store and queue outlive it.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/base/row_layout.h"
#include "server/tiers/cold_store.h"
#include "server/tiers/tier.h"
#include "server/tiers/write_behind.h"

namespace hotrow {

class RocksdbTier final : public Tier {
 public:
  struct Options {
    ColdTable table;
    RowLayout layout;
    int partition_bits = 0;
    std::vector<uint32_t> partitions;  // of the strand: what Size() counts
  };
  RocksdbTier(ColdStore& store, WriteBehind& queue, Options options);

  std::string_view name() const override { return "cold"; }
  absl::Status Find(const RowTargets& rows, Lookup lookup, std::span<uint8_t> found) override;
  absl::Status MayGrow() override;  // ColdStore::HasRoom
  absl::Status MakeRoom(int64_t rows, Patience patience) override;
  void Upsert(const RowSources& rows, RowBlock* displaced) override;
  void Remove(std::span<const Key> keys) override;
  // Waits, for a bounded time, for what is queued.
  absl::StatusOr<std::unique_ptr<RowRange>> Scan() override;
  // rows: in the store or on their way to it, each once. used_bytes: of their keys and values.
  TierSize Size() const override;

 private:
  WriteChunk::Entry EntryOf(Key key) const;

  ColdStore& store_;
  WriteBehind& queue_;
  const Options options_;
  int64_t rows_ = 0;
  // Workspace of Find: the rows that are not queued.
  std::vector<Key> keys_;
  std::vector<std::byte*> records_;
  std::vector<uint32_t> scores_;
  std::vector<uint8_t> found_;
  std::vector<size_t> places_;
};

}  // namespace hotrow
