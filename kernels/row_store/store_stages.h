// The stages of a device's row store: each one body of slot_index.h, row_copy.h, row_store_ops.h or
// claim_stages.h for item i of a batch.
//
// Each is a struct of what all items share and one call per item, which is all that a space needs.
// kName stands in records of launches and in messages.
//
// Thread safety: items of one stage run beside each other. Ownership: nothing; every pointer is
// memory of the space that runs the stage. Shapes: arrays of a batch (n).

#pragma once

#include <cstdint>

#include "kernels/base/atomic.h"
#include "kernels/base/float_row.h"
#include "kernels/base/host_device.h"
#include "kernels/row_store/claim_stages.h"
#include "kernels/row_store/row_copy.h"
#include "kernels/row_store/set_resize.h"

namespace hotrow {

// slots[i] = slot of keys[i], or kNoSlot.
struct FindStage {
  static constexpr const char* kName = "find";
  SlotIndexView index;
  const Key* keys;
  Slot* slots;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    const Slot slot = ProbeKey(tile, index, keys[i]);
    tile.Leader(0, [&] {
      slots[i] = slot;
      return 0;
    });
  }
};

// Finds a key and copies its weights in one go; an unknown key's row is left as it is, for the next
// tier or the initializer to fill. One launch where two would read the slots back: small batches
// are bound by launches.
struct FindAndCopyStage {
  static constexpr const char* kName = "find_and_copy";
  FindStage find;
  const RowPointer* rows;
  int64_t dim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    const Slot slot = ProbeKey(tile, find.index, find.keys[i]);
    tile.Leader(0, [&] {
      find.slots[i] = slot;
      return 0;
    });
    if (slot != kNoSlot) CopyWeightsOut(tile, find.index.record(slot), dim, rows[i]);
  }
};

// Copies the weights of slots[i] to rows[i]; kNoSlot is skipped.
struct CopyWeightsStage {
  static constexpr const char* kName = "copy_weights";
  SlotIndexView index;
  const Slot* slots;
  const RowPointer* rows;
  int64_t dim;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    if (slots[i] != kNoSlot) CopyWeightsOut(tile, index.record(slots[i]), dim, rows[i]);
  }
};

// Where the records of slots lie, for the stages that change rows; null for kNoSlot. Good until the
// next batch that claims, erases or grows.
// Optimizers and initializers know rows by address only, so they need not know a store.
struct RecordAddressStage {
  static constexpr const char* kName = "record_address";
  SlotIndexView index;
  const Slot* slots;
  std::byte** records;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    tile.Leader(0, [&] {
      records[i] = slots[i] == kNoSlot ? nullptr : index.record(slots[i]);
      return 0;
    });
  }
};

// Gives the rows of a batch one score. A key that stands twice gets it twice.
struct SetScoreStage {
  static constexpr const char* kName = "set_score";
  SlotIndexView index;
  const Slot* slots;
  uint32_t score;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    tile.Leader(0, [&] {
      if (slots[i] != kNoSlot) AtomicStore(index.scores + slots[i], score);
      return 0;
    });
  }
};

// Empties slots[i]; *removed counts those that held a row. A stage of its own, after the batch has
// been found: while slots are emptied their sets cannot be read.
struct VacateStage {
  static constexpr const char* kName = "vacate";
  SlotIndexView index;
  const Slot* slots;
  int64_t* removed;  // one number

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    VacateOnce(tile, index, slots[i], removed);
  }
};

// Fills set first + i with the rows that belong there now: growth by linear hashing, as many sets
// at a time as lie on one level. The sets first .. first + n - 1 lie between two neighbouring
// powers of two.
struct SplitStage {
  static constexpr const char* kName = "split";
  SlotIndexView index;  // counts the new sets
  int64_t first;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    SplitInto(tile, index, first + i);
  }
};

}  // namespace hotrow
