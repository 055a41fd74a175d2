#include "kernels/row_store/row_store.h"

#include <utility>

#include "kernels/row_store/claim_batch.h"
#include "kernels/row_store/row_copy.h"
#include "kernels/row_store/row_store_ops.h"
#include "kernels/row_store/set_arrays.h"
#include "kernels/row_store/set_table.h"
#include "kernels/row_store/slot_index.h"
#include "kernels/space/host_space.h"

namespace hotrow {
namespace {

// Keys between two stages of a probe, and rows between prefetch and copy: see
// bench/row_store_bench.
constexpr int kProbeDistance = 12;
constexpr int kCopyDistance = 8;

Result Validate(const RowStoreOptions& options) {
  const RowLayout& layout = options.layout;
  if (layout.dim < 1 || layout.state_columns < 0) {
    return Result(Code::kInvalidArgument, "a row store needs rows of at least one column");
  }
  const RowLayout expected = RowLayout::Of(layout.dim, layout.state_columns);
  if (layout.meta_offset != expected.meta_offset || layout.row_bytes != expected.row_bytes) {
    return Result(Code::kInvalidArgument, "the row layout of a row store is inconsistent");
  }
  const int slots = options.slots_per_set;
  if (slots != 4 && slots != 32 && slots != 64) {
    return Result(Code::kInvalidArgument, "slots_per_set of a row store must be 4, 32 or 64");
  }
  const int width = options.space.tile_width;
  if (width != 1 && width != 8 && width != 32) {
    return Result(Code::kInvalidArgument, "the tile width of a row store must be 1, 8 or 32");
  }
  if (options.max_slots < slots) {
    return Result(Code::kInvalidArgument, "max_slots of a row store is less than one set");
  }
  return {};
}

// Runs a probe of each key and hands its slot, or kNoSlot, to finish(tile, i, slot).
template <typename Finish>
void ProbeAll(const SetTable& table, std::span<const Key> keys, const Finish& finish) {
  const SlotIndexView& index = table.index();
  table.space().Run<kProbeDistance, Probe>(
      static_cast<int64_t>(keys.size()),
      [&](const auto& tile, int64_t i, Probe& probe) { StartProbe(tile, index, keys[i], &probe); },
      [&](const auto& tile, int64_t, Probe& probe) { MatchProbe(tile, index, &probe); },
      [&](const auto& tile, int64_t i, Probe& probe) {
        finish(tile, i, FinishProbe(index, probe, keys[i]));
      });
}

}  // namespace

struct RowStore::Impl {
  SetTable table;
  FullPolicy full_policy;
  int64_t rows = 0;
  ClaimWorkspace workspace;
  std::vector<Slot> erased;  // slots of the keys of an Erase batch
};

RowStore::RowStore(const RowLayout& layout, std::unique_ptr<Impl> impl)
    : layout_(layout),
      impl_(std::move(impl)),
      records_(impl_->table.index().records),
      scores_(impl_->table.index().scores) {}

RowStore::~RowStore() = default;

ResultOr<std::unique_ptr<RowStore>> RowStore::Create(const RowStoreOptions& options,
                                                     MemoryBudget& budget) {
  const Result valid = Validate(options);
  if (!valid.ok()) return valid;
  ResultOr<SetArrays> arrays =
      SetArrays::Reserve(options.slots_per_set, options.layout.row_bytes,
                         options.max_slots / options.slots_per_set, budget);
  if (!arrays.ok()) return arrays.result();
  if (!arrays->Grow(1)) {
    return Result(Code::kResourceExhausted, "no memory left in the budget for a new row store");
  }
  SetTable table(*std::move(arrays), options.layout.row_bytes, options.table_salt,
                 options.slots_per_set, options.space);
  std::unique_ptr<Impl> impl(new Impl{std::move(table), options.full_policy, 0, {}, {}});
  return std::unique_ptr<RowStore>(new RowStore(options.layout, std::move(impl)));
}

void RowStore::Find(std::span<const Key> keys, std::span<Slot> slots) const {
  HOTROW_CHECK(keys.size() == slots.size());
  ProbeAll(impl_->table, keys,
           [&](const auto& /*tile*/, int64_t i, Slot slot) { slots[i] = slot; });
}

ClaimCounts RowStore::FindOrClaim(std::span<const Key> keys, std::span<Slot> slots,
                                  std::span<uint8_t> created, RowBlock* evicted) {
  HOTROW_CHECK(keys.size() == slots.size() && keys.size() == created.size());
  Find(keys, slots);
  std::vector<int64_t>& missing = impl_->workspace.missing;
  missing.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    created[i] = 0;
    if (slots[i] == kNoSlot) missing.push_back(static_cast<int64_t>(i));
  }
  ClaimCounts counts;
  counts.found = static_cast<int64_t>(keys.size() - missing.size());
  if (missing.empty()) return counts;
  const FullPolicy policy = evicted == nullptr ? FullPolicy::kRefuse : impl_->full_policy;
  ClaimBatch batch({keys, slots, created}, policy, &impl_->table, &impl_->workspace);
  batch.Run(impl_->rows, evicted, &counts);
  impl_->rows += counts.created - counts.evicted;
  return counts;
}

int64_t RowStore::Erase(std::span<const Key> keys) {
  const SlotIndexView& index = impl_->table.index();
  impl_->erased.resize(keys.size());
  Find(keys, impl_->erased);
  int64_t removed = 0;
  impl_->table.space().ForEach(static_cast<int64_t>(keys.size()), [&](const auto& tile, int64_t i) {
    VacateOnce(tile, index, impl_->erased[i], &removed);
  });
  impl_->rows -= removed;
  // At half load a set's rows pay for the removal of two: memory follows the rows without a pause.
  impl_->table.ShrinkFor(impl_->rows, 2 + 4 * removed / index.slots_per_set);
  return removed;
}

void RowStore::Scan(int64_t* cursor, int64_t limit, std::vector<Key>* keys,
                    std::vector<Slot>* slots) const {
  HOTROW_CHECK(*cursor >= 0 && limit > 0);
  keys->clear();
  slots->clear();
  const SlotIndexView& index = impl_->table.index();
  const int64_t end = impl_->table.slots();
  Slot slot = *cursor;
  for (; slot < end && static_cast<int64_t>(keys->size()) < limit; ++slot) {
    if (index.digests[slot] == kEmptyDigest) continue;
    keys->push_back(index.keys[slot]);
    slots->push_back(slot);
  }
  *cursor = slot < end ? slot : -1;
}

void RowStore::CopyWeights(std::span<const Slot> slots, const RowsView& rows) const {
  HOTROW_CHECK(slots.size() == rows.rows.size() && rows.dim == layout_.dim);
  struct NoWork {};
  const int64_t bytes = rows.dim * static_cast<int64_t>(sizeof(float));
  impl_->table.space().Run<kCopyDistance, NoWork>(
      static_cast<int64_t>(slots.size()),
      [&](const auto& tile, int64_t i, NoWork&) {
        if (slots[i] != kNoSlot) PrefetchWeights(tile, record(slots[i]), bytes);
      },
      [&](const auto& tile, int64_t i, NoWork&) {
        if (slots[i] != kNoSlot) CopyWeightsOut(tile, record(slots[i]), rows.dim, rows.rows[i]);
      });
}

void RowStore::SetScores(std::span<const Slot> slots, uint32_t score) {
  const SlotIndexView& index = impl_->table.index();
  for (const Slot slot : slots) {
    if (slot != kNoSlot) index.scores[slot] = score;
  }
}

int64_t RowStore::rows() const { return impl_->rows; }
int64_t RowStore::slots() const { return impl_->table.slots(); }
int64_t RowStore::allocated_bytes() const { return impl_->table.committed_bytes(); }

}  // namespace hotrow
