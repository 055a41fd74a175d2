// The host's row store as a store under test, on any tile width and number of threads: its records
// are read and written in place.

#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/row_store/row_store.h"
#include "kernels/space/thread_team.h"

namespace hotrow::testing {

template <int kSlots, int kTileWidth = 1, int kThreads = 1>
class HostStore {
 public:
  static constexpr int kSlotsPerSet = kSlots;

  static HostStore Create(RowStoreOptions options, MemoryBudget& budget) {
    std::unique_ptr<ThreadTeam> team = *ThreadTeam::Create(kThreads);
    options.space = {kThreads == 1 ? nullptr : team.get(), kTileWidth};
    ResultOr<std::unique_ptr<RowStore>> store = RowStore::Create(options, budget);
    EXPECT_TRUE(store.ok()) << store.result().message();
    return HostStore(std::move(team), *std::move(store));
  }

  void Find(std::span<const Key> keys, std::span<Slot> slots) const { store_->Find(keys, slots); }
  ClaimCounts FindOrClaim(std::span<const Key> keys, std::span<Slot> slots,
                          std::span<uint8_t> created, RowBlock* evicted) {
    return store_->FindOrClaim(keys, slots, created, evicted);
  }
  int64_t Erase(std::span<const Key> keys) { return store_->Erase(keys); }
  void Scan(int64_t* cursor, int64_t limit, std::vector<Key>* keys,
            std::vector<Slot>* slots) const {
    store_->Scan(cursor, limit, keys, slots);
  }
  void CopyWeights(std::span<const Slot> slots, const RowsView& rows) const {
    store_->CopyWeights(slots, rows);
  }
  void SetScores(std::span<const Slot> slots, uint32_t score) { store_->SetScores(slots, score); }
  int64_t rows() const { return store_->rows(); }
  int64_t slots() const { return store_->slots(); }
  int64_t allocated_bytes() const { return store_->allocated_bytes(); }

  void Write(Slot slot, const std::vector<std::byte>& record) {
    ASSERT_NE(slot, kNoSlot);
    std::memcpy(store_->record(slot), record.data(), record.size());
  }
  std::vector<std::byte> Read(Slot slot) const {
    const std::byte* const record = store_->record(slot);
    return {record, record + store_->layout().row_bytes};
  }

 private:
  HostStore(std::unique_ptr<ThreadTeam> team, std::unique_ptr<RowStore> store)
      : team_(std::move(team)), store_(std::move(store)) {}
  std::unique_ptr<ThreadTeam> team_;
  std::unique_ptr<RowStore> store_;
};

}  // namespace hotrow::testing
