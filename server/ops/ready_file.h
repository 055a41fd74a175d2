// The file that says where a server serves, for whoever started it: written once it takes requests
// and gone once it does not.
//
// Thread safety: one thread. Ownership: of a file belongs to the process whose number stands in it,
// as long as that one lives: no other removes it. Errors: Unavailable with path and cause.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"

namespace hotrow {

// Writes `facts` and the number of this process. An empty path writes nothing.
absl::Status WriteReadyFile(const std::string& path, nlohmann::json facts);
// Removes the file of this process, or what one that was killed has left.
void RemoveReadyFile(const std::string& path);

}  // namespace hotrow
