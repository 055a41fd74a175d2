// Why a server cannot listen on an address, asked before a library tries and only says that it
// could not.
//
// Thread safety: pure functions but for the socket that they open and close.

#pragma once

#include <string>

#include "absl/status/status.h"

namespace hotrow {

// Unavailable, naming the address and the system's reason, when HOST:PORT cannot be listened on
// now. Another process may still take it before this one does.
absl::Status CheckListen(const std::string& address);
// The same for the path of a Unix socket. A socket that nobody listens on any more is no obstacle.
absl::Status CheckListenUnix(const std::string& path);
// What an attempt to listen on `where` that failed with `error` (errno) is told as: the system's
// reason and, where there is one, the way out.
absl::Status ListenFailure(const std::string& where, int error);

}  // namespace hotrow
