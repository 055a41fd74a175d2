// How much memory this process may count on: the machine's, or less where a control group says so.
//
// Thread safety: reads files of /proc and /sys; any thread.

#pragma once

#include <cstdint>
#include <string>

namespace hotrow {

// Bytes. `root` is prefixed to /proc and /sys/fs/cgroup, for tests; empty in production.
int64_t UsableMemoryBytes(const std::string& root);

}  // namespace hotrow
