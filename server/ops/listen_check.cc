#include "server/ops/listen_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "server/ops/address.h"

namespace hotrow {
namespace {

class Socket {
 public:
  explicit Socket(int family)
      : descriptor_(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

absl::Status CannotListen(const std::string& where, const std::string& why) {
  return absl::UnavailableError("cannot listen on " + where + ": " + why);
}

std::string ReasonOf(int error) {
  const std::string reason = std::strerror(error);
  if (error == EADDRINUSE) return reason + " (is another server running? `ss -ltnp` shows whose)";
  if (error == EADDRNOTAVAIL) return reason + " (it is not an address of this machine)";
  if (error == EACCES) return reason + " (ports below 1024 belong to root)";
  return reason;
}

}  // namespace

absl::Status ListenFailure(const std::string& where, int error) {
  return CannotListen(where, ReasonOf(error));
}

absl::Status CheckListen(const std::string& address) {
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &wanted, &found);
  if (failed != 0) return CannotListen(address, gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  const Socket socket(found->ai_family);
  if (socket.descriptor() < 0) return ListenFailure(address, errno);
  const int on = 1;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket.descriptor(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket.descriptor(), 1) != 0) {
    return ListenFailure(address, errno);
  }
  return absl::OkStatus();
}

absl::Status CheckListenUnix(const std::string& path) {
  const std::string where = "unix:" + path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return CannotListen(where, "the path is longer than " +
                                   std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return CannotListen(where, "folder " + folder + ": " + std::strerror(errno));
  }
  struct stat there{};
  if (stat(path.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode)) {
    return CannotListen(where, "there is something that is no socket; name another path");
  }
  const Socket socket(AF_UNIX);
  if (socket.descriptor() < 0) return ListenFailure(where, errno);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  const bool answered = connect(socket.descriptor(), generic, sizeof(address)) == 0;
  // Free is what is not there, or was left behind by somebody who is gone. Whatever else connecting
  // fails with, there is somebody: a queue that is full, a socket of another type or user.
  if (!answered && (errno == ENOENT || errno == ECONNREFUSED)) return absl::OkStatus();
  return CannotListen(where, "the socket is in use (`ss -lxp` shows whose)");
}

}  // namespace hotrow
