// LowerTiers: what lies below the hot tier of a table: warm and cold, or one of them, or nothing.
//
// Thread safety: single writer, as Tier. Ownership: owns the tiers. Errors: as Tier; rows that one
// tier has handed over are put back when another fails.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/row_layout.h"
#include "kernels/row_store/row_block.h"
#include "server/tiers/tier.h"

namespace hotrow {

inline constexpr uint8_t kNotFound = 0xff;

// Rows that were fetched, one place for each key that was asked for.
struct FetchedRows {
  std::vector<Key> keys;
  std::vector<uint32_t> scores;
  std::vector<std::byte> records;  // zero bytes where nothing was found
  std::vector<uint8_t> tier;       // the tier that had it, kNotFound if none

  bool found(size_t i) const { return tier[i] != kNotFound; }
};

class LowerTiers {
 public:
  // From the highest to the lowest.
  LowerTiers(std::vector<std::unique_ptr<Tier>> tiers, const RowLayout& layout)
      : tiers_(std::move(tiers)), layout_(layout) {}

  bool empty() const { return tiers_.empty(); }
  std::span<const std::unique_ptr<Tier>> tiers() const { return tiers_; }

  // Whether rows that no tier has may be added.
  absl::Status MayGrow() { return empty() ? absl::OkStatus() : tiers_.back()->MayGrow(); }
  // As Tier::MakeRoom, for the whole way down.
  absl::Status MakeRoom(int64_t rows, Patience patience);
  // Looks for unique keys tier by tier. With kMove, MakeRoom came before.
  absl::Status Fetch(std::span<const Key> keys, Lookup lookup, FetchedRows* rows);
  // Takes rows in, after MakeRoom.
  void PutDown(const RowBlock& rows);
  // Forgets the copies of rows whose flags have kRowBelow, after MakeRoom.
  void RemoveCopies(std::span<const Key> keys) {
    if (!keys.empty()) tiers_.back()->Remove(keys);
  }

 private:
  absl::Status FetchFrom(size_t tier, Lookup lookup, FetchedRows* rows);
  void PutBack(const FetchedRows& rows, size_t tiers);
  void PutInto(size_t tier, const RowBlock& rows);

  std::vector<std::unique_ptr<Tier>> tiers_;
  const RowLayout layout_;
  // Workspace.
  std::vector<Key> keys_;
  std::vector<std::byte*> records_;
  std::vector<const std::byte*> sources_;
  std::vector<uint32_t> scores_;
  std::vector<uint8_t> found_;
  std::vector<size_t> places_;
  std::vector<RowBlock> displaced_;  // a tier
};

}  // namespace hotrow
