#include "server/rpc/listen_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "server/ops/address.h"
#include "server/ops/listen_check.h"

namespace hotrow {
namespace {

constexpr int kUserTimeoutMs = 20'000;

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

void Set(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof(value));
}

int PortOf(int descriptor) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

void SetPort(sockaddr& address, int port) {
  const auto wanted = htons(static_cast<uint16_t>(port));
  if (address.sa_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(address).sin6_port = wanted;
  if (address.sa_family == AF_INET) reinterpret_cast<sockaddr_in&>(address).sin_port = wanted;
}

// Accepted connections inherit the options. No SO_REUSEPORT: two servers on one port would share
// its clients at random.
absl::StatusOr<ListenSocket> Listen(const std::string& where, const sockaddr& address,
                                    socklen_t size) {
  const int descriptor = socket(address.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return ListenFailure(where, errno);
  ListenSocket listening(descriptor);
  if (address.sa_family != AF_UNIX) {
    Set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    Set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
    Set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
  }
  if (address.sa_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    Set(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, IN6_IS_ADDR_UNSPECIFIED(&ip) ? 0 : 1);
  }
  if (bind(descriptor, &address, size) != 0 || listen(descriptor, SOMAXCONN) != 0) {
    return ListenFailure(where, errno);
  }
  return listening;
}

// A socket of both families, where the machine has both.
std::optional<TcpSockets> ListenEverywhere(const std::string& where, int port) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  any.sin6_addr = in6addr_any;
  auto listening = Listen(where, reinterpret_cast<const sockaddr&>(any), sizeof(any));
  if (!listening.ok()) return std::nullopt;
  TcpSockets all;
  all.port = PortOf(listening->descriptor());
  all.sockets.push_back(*std::move(listening));
  return all;
}

bool IsEverywhere(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

}  // namespace

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::exchange(other.path_, std::string())) {}

ListenSocket::~ListenSocket() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!path_.empty()) unlink(path_.c_str());
}

absl::StatusOr<TcpSockets> ListenTcp(const std::string& address) {
  // Says why in words, also when the port is taken for one of the two families only.
  if (absl::Status status = CheckListen(address); !status.ok()) return status;
  const Address parsed = *ParseAddress(address);
  if (IsEverywhere(parsed.host)) {
    if (auto all = ListenEverywhere(address, parsed.port)) return *std::move(all);
  }
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(parsed.host.c_str(), std::to_string(parsed.port).c_str(), &wanted, &found);
  if (failed != 0) return absl::UnavailableError("cannot listen on " + address);
  const AddressList owner(found, &freeaddrinfo);
  TcpSockets all;
  all.port = parsed.port;
  absl::Status why;
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SetPort(*one->ai_addr, all.port);
    auto listening = Listen(address, *one->ai_addr, one->ai_addrlen);
    if (!listening.ok()) {
      why = listening.status();
      continue;
    }
    all.port = PortOf(listening->descriptor());
    all.sockets.push_back(*std::move(listening));
  }
  if (all.sockets.empty()) return why;
  return all;
}

absl::StatusOr<ListenSocket> ListenUnix(const std::string& path) {
  if (absl::Status status = CheckListenUnix(path); !status.ok()) return status;
  struct stat there{};
  if (stat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) unlink(path.c_str());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  auto listening =
      Listen("unix:" + path, reinterpret_cast<const sockaddr&>(address), sizeof(address));
  if (listening.ok()) listening->RemoveAtEnd(path);
  return listening;
}

}  // namespace hotrow
