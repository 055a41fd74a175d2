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

namespace hotrow::v1 {
class TableSchema;  // generated
}

namespace hotrow {

struct TableOptions {
  std::string name;
  uint64_t table_salt = 0;  // XXH64(name, 0)
  int64_t dim = 0;
  OptimizerOptions optimizer;
  float default_learning_rate = 0.0F;
  Initializer initializer;
  uint64_t num_embeddings = 0;  // 0: open table
  float gradient_bound = 0.0F;
  int slots_per_set = 32;

  static absl::StatusOr<TableOptions> FromSchema(const v1::TableSchema& schema);

  // False if a key is outside 0 .. num_embeddings - 1. Open tables take every key.
  bool KeysInRange(std::span<const Key> keys) const;
  RowLayout layout() const;
};

// Fills defaults (data types, bias correction, admission, eviction, gradient bound ...) of fields
// left unspecified, so that equal schemas compare equal.
v1::TableSchema NormalizedSchema(const v1::TableSchema& schema);

}  // namespace hotrow
