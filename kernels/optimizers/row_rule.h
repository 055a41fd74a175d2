// What the optimizers' per-row bodies share: one body per file, written once against a Tile and run
// by every space.
//
//   struct SomeRule {
//     static SomeRule Of(const OptimizerOptions&, const StepOptions&);          // once per batch
//     template <typename Tile> void operator()(const Tile&, const RuleRow&) const;  // once per row
//   };
//
// RuleStage is that body for a batch of rows.
//
// Thread safety: values. Ownership: a RuleRow borrows the record and the gradient.

#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/float_row.h"
#include "kernels/base/host_device.h"
#include "kernels/optimizers/row_optimizer.h"

namespace hotrow {

// One row and its gradient; the three do not overlap.
struct RuleRow {
  int64_t dim;
  float* weights;            // (dim)
  float* state;              // (StateColumns)
  ConstRowPointer gradient;  // (dim)
};

// All arrays (n). A row without a record (nullptr: its key got no slot) is skipped.
template <typename Rule>
struct RuleStage {
  static constexpr const char* kName = "apply_gradients";
  Rule rule;
  RowLayout layout;
  std::byte* const* records;
  const ConstRowPointer* gradients;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    std::byte* const record = records[i];
    if (record == nullptr) return;
    rule(tile, {layout.dim, layout.weights(record), layout.state(record), gradients[i]});
  }
};

}  // namespace hotrow
