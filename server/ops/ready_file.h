// The file that says where a server serves, for whoever started it: written once it takes requests
// and gone once it does not.
//
// Thread safety: one thread. Ownership: of a file belongs to the process whose number stands in it,
// as long as that one lives (and, where this can be seen, runs the same program): no other replaces
// or removes it. Errors: Unavailable with path and cause.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"

namespace hotrow {

// Before the start: removes what a server that was killed has left. Refused when it belongs to one
// that lives, or is something else than a file.
absl::Status PrepareReadyFile(const std::string& path);
// Writes `facts` and the number of this process. An empty path writes nothing.
absl::Status WriteReadyFile(const std::string& path, nlohmann::json facts);
// Removes the file of this process.
void RemoveReadyFile(const std::string& path);

}  // namespace hotrow
