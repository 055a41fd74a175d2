// RowStoreTier: a tier in memory: rows of one table in a RowStore, in any space.
//
// With a tier below it (a store that evicts), a row that finds no slot displaces the lowest score
// of its sets; a row that may displace none goes down itself. As the lowest tier (a store that
// refuses) it keeps a row that finds no slot beside the store: rows only trade places there once
// MayGrow says no, at a load where two sets of 32 slots are hardly ever both full.
//
// Thread safety and errors: as Tier. Ownership: owns the store; its budget outlives it.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/row_store/row_store.h"
#include "server/tiers/tier.h"

namespace hotrow {

class RowStoreTier final : public Tier {
 public:
  enum class Place : uint8_t { kAboveOthers, kLowest };

  // `store` evicts when the tier is above others, and refuses when it is the lowest.
  RowStoreTier(std::string name, std::unique_ptr<RowStore> store, Place place);

  std::string_view name() const override { return name_; }
  absl::Status Find(const RowTargets& rows, Lookup lookup, std::span<uint8_t> found) override;
  absl::Status MayGrow() override;
  absl::Status MakeRoom(int64_t rows, Patience patience) override;
  void Upsert(const RowSources& rows, RowBlock* displaced) override;
  void Remove(std::span<const Key> keys) override;
  absl::StatusOr<std::unique_ptr<RowRange>> Scan() override;
  TierSize Size() const override;

  void AppendKeys(std::vector<Key>* keys) const;
  // Rows of the lowest tier that are kept beside the store.
  int64_t rows_beside() const { return static_cast<int64_t>(beside_.size()); }

 private:
  struct RowBeside {
    uint32_t score = 0;
    std::vector<std::byte> record;
  };

  void FindBeside(const RowTargets& rows, Lookup lookup, std::span<uint8_t> found);
  void KeepBeside(const RowSources& rows, RowBlock* displaced);

  const std::string name_;
  const std::unique_ptr<RowStore> store_;
  const Place place_;
  const int64_t row_bytes_;
  std::unordered_map<Key, RowBeside> beside_;
  std::vector<Slot> slots_;       // workspace
  std::vector<uint8_t> created_;  // workspace
};

}  // namespace hotrow
