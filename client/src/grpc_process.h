// The process that gRPC runs in: its threads and descriptors belong to the process that used it
// first, and a child of fork() that uses it too damages its parent.
//
// Thread safety: any thread. Errors: ForkedProcess in such a child.

#pragma once

#include "absl/status/status.h"

namespace hotrow::client {

// Before the first use of gRPC by a client.
absl::Status EnterGrpc();

}  // namespace hotrow::client
