// TableOptions: a validated table schema in the terms of kernels/.
//
// Thread safety: a value. Errors: FromSchema refuses, by name, every field that is malformed or not
// offered by this version; what it returns can be served.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/key.h"
#include "kernels/base/row_layout.h"
#include "kernels/initializers/initializer.h"
#include "kernels/optimizers/row_optimizer.h"
#include "server/tiers/cold_table.h"
#include "server/tiers/score_policy.h"

namespace hotrow::v1 {
class TableSchema;  // generated
}

namespace hotrow {

struct TableOptions {
  uint32_t id = 0;  // of the table that is made; 0: none has been assigned yet
  std::string name;
  uint64_t table_salt = 0;  // XXH64(name, 0)
  int64_t dim = 0;
  OptimizerOptions optimizer;
  float default_learning_rate = 0.0F;
  Initializer initializer;
  uint64_t num_embeddings = 0;  // 0: open table
  float gradient_bound = 0.0F;
  int slots_per_set = 32;
  int64_t max_slots = 0;  // of a tier in memory, on a strand; 0: what its budget allows
  EvictionKind eviction = EvictionKind::kLru;
  double eviction_decay = 1;  // of kLfu, a training step

  static absl::StatusOr<TableOptions> FromSchema(const v1::TableSchema& schema);

  // False if a key is outside 0 .. num_embeddings - 1. Open tables take every key.
  bool KeysInRange(std::span<const Key> keys) const;
  RowLayout layout() const;
  ColdTable cold_table() const { return {id, name, table_salt, layout().row_bytes}; }
};

// Fills defaults (data types, bias correction, admission, eviction, gradient bound ...) of fields
// left unspecified, so that equal schemas compare equal.
v1::TableSchema NormalizedSchema(const v1::TableSchema& schema);

}  // namespace hotrow
