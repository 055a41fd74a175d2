// What one client knows of one table. All handles to the table share it.
//
// Thread safety: info and salt are constant; the step counter may be used from any thread.

#pragma once

#include <algorithm>
#include <atomic>
#include <utility>

#include "hotrow/client.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/hashes.h"

namespace hotrow {

class TableState {
 public:
  explicit TableState(TableInfo table)
      : info(std::move(table)), salt(wire::TableSalt(info.schema.name)), step_(info.highest_step) {}

  // The step of a push: the given one, or one more than the highest so far; the last that can be
  // said stays, so that a push that gave it does not end the table's training. Relaxed: a counter.
  uint64_t TakeStep(std::optional<uint64_t> given) {
    uint64_t highest = step_.load(std::memory_order_relaxed);
    uint64_t step = 0;
    do {
      step = given.value_or(std::min(highest + 1, wire::kMaxStep));
    } while (
        !step_.compare_exchange_weak(highest, std::max(highest, step), std::memory_order_relaxed));
    return step;
  }
  uint64_t highest_step() const { return step_.load(std::memory_order_relaxed); }

  const TableInfo info;
  const uint64_t salt;

 private:
  std::atomic<uint64_t> step_;
};

}  // namespace hotrow
