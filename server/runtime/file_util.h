// Small files that are either there in full or not at all.
//
// Thread safety: any thread; one writer per path. Errors: Unavailable with path and cause.

#pragma once

#include <string>

#include "absl/status/status.h"

namespace hotrow {

// Writes `text` beside `path`, syncs it and renames it over `path`.
absl::Status WriteFileAtomically(const std::string& path, const std::string& text);

}  // namespace hotrow
