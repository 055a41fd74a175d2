// Checks of what a caller passes in, before anything is sent.
//
// Thread safety: pure functions. Errors: name the table and the first bad position; never row data.

#pragma once

#include <optional>
#include <span>

#include "absl/status/status.h"
#include "hotrow/client.h"

namespace hotrow::client {

absl::Status ValidateOptions(const ConnectOptions& options);
// KeyRange for a key outside 0 .. num_embeddings-1, other than `skip`.
absl::Status ValidateKeys(const TableSchema& schema, std::span<const Key> keys,
                          std::optional<Key> skip);
// InvalidArgument unless there are keys.size() rows of dim values.
absl::Status ValidateRows(const TableSchema& schema, size_t keys, size_t values);
absl::Status ValidateStep(const TableSchema& schema, const PushOptions& options);

}  // namespace hotrow::client
