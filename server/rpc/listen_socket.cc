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
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "server/ops/address.h"
#include "server/ops/listen_check.h"

namespace hotrow {
namespace {

constexpr int kUserTimeoutMs = 20'000;
constexpr int kAttempts = 10;  // to find a port that is free in every family

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

// Whether the machine has the address, and its family, whoever uses its ports.
bool Offers(const sockaddr& address, socklen_t size) {
  const int descriptor = socket(address.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno != EAFNOSUPPORT;
  sockaddr_storage any_port{};
  std::memcpy(&any_port, &address, size);
  auto& generic = reinterpret_cast<sockaddr&>(any_port);
  SetPort(generic, 0);
  const bool offered = bind(descriptor, &generic, size) == 0 || errno != EADDRNOTAVAIL;
  close(descriptor);
  return offered;
}

// One socket of both families.
absl::StatusOr<TcpSockets> ListenEverywhere(const std::string& where, const sockaddr_in6& any) {
  auto listening = Listen(where, reinterpret_cast<const sockaddr&>(any), sizeof(any));
  if (!listening.ok()) return listening.status();
  TcpSockets all;
  all.port = PortOf(listening->descriptor());
  all.sockets.push_back(*std::move(listening));
  return all;
}

// A socket for each address. One that is another program's is an error: a part of the clients would
// end there.
absl::StatusOr<TcpSockets> ListenOnEach(const std::string& where, int port, addrinfo* found) {
  TcpSockets all;
  all.port = port;
  std::set<std::string> seen;  // a file of names may hold one twice
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SetPort(*one->ai_addr, 0);
    const auto* const bytes = reinterpret_cast<const char*>(one->ai_addr);
    const bool is_new = seen.emplace(bytes, one->ai_addrlen).second;
    if (!is_new || !Offers(*one->ai_addr, one->ai_addrlen)) continue;
    SetPort(*one->ai_addr, all.port);
    auto listening = Listen(where, *one->ai_addr, one->ai_addrlen);
    if (!listening.ok()) return listening.status();
    all.port = PortOf(listening->descriptor());
    all.sockets.push_back(*std::move(listening));
  }
  if (all.sockets.empty()) return ListenFailure(where, EADDRNOTAVAIL);
  return all;
}

// 0: nothing lies there.
ino_t InodeAt(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

bool IsEverywhere(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

}  // namespace

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::exchange(other.path_, std::string())),
      inode_(other.inode_) {}

ListenSocket::~ListenSocket() {
  if (descriptor_ < 0) return;
  // In this order: once it is closed, a successor may take the path.
  if (!path_.empty() && InodeAt(path_) == inode_) unlink(path_.c_str());
  close(descriptor_);
}

void ListenSocket::RemoveAtEnd(std::string path) {
  inode_ = InodeAt(path);
  path_ = std::move(path);
}

absl::StatusOr<TcpSockets> ListenTcp(const std::string& address) {
  if (absl::Status status = CheckListen(address); !status.ok()) return status;
  const Address parsed = *ParseAddress(address);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(parsed.port));
  any.sin6_addr = in6addr_any;
  if (IsEverywhere(parsed.host) && Offers(reinterpret_cast<const sockaddr&>(any), sizeof(any))) {
    return ListenEverywhere(address, any);
  }
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(parsed.host.c_str(), std::to_string(parsed.port).c_str(), &wanted, &found);
  if (failed != 0) return absl::UnavailableError("cannot listen on " + address);
  const AddressList owner(found, &freeaddrinfo);
  for (int attempt = 1;; ++attempt) {
    auto all = ListenOnEach(address, parsed.port, found);
    // A port that is free in one family need not be in the other.
    if (all.ok() || parsed.port != 0 || attempt == kAttempts) return all;
  }
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
