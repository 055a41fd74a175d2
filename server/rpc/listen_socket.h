// ListenSocket: a socket that listens, on HOST:PORT or on the path of a Unix socket.
//
// Thread safety: a value with one owner. Ownership: closes its descriptor, and removes the path
// that it made. Errors: Unavailable naming the address and the system's reason.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotrow {

class ListenSocket {
 public:
  explicit ListenSocket(int descriptor) : descriptor_(descriptor) {}
  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();

  int descriptor() const { return descriptor_; }
  // The path goes with the socket, unless another socket has come to lie there.
  void RemoveAtEnd(std::string path);

 private:
  int descriptor_;
  std::string path_;
  ino_t inode_ = 0;  // of what lies at the path
};

// One socket for each address of a host that can be listened on, all with the same port, and at
// least one.
struct TcpSockets {
  std::vector<ListenSocket> sockets;
  int port = 0;  // the chosen one where port 0 was asked for
};

// Listens on HOST:PORT, on every address that the host's name has here. 0.0.0.0 and [::] mean every
// address of the machine, of both families. All of them or none: unavailable when one is in use.
// Connections send small messages at once and are given up when the peer confirms nothing for
// 20 s.
absl::StatusOr<TcpSockets> ListenTcp(const std::string& address);

// Listens on a path, in the place of a socket that nobody listens on any more; anything else that
// lies there is left alone.
absl::StatusOr<ListenSocket> ListenUnix(const std::string& path);

}  // namespace hotrow
