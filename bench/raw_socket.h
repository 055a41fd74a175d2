// The limit of a request and its reply: the same bytes over a bare socket, answered from a fixed
// buffer by a forked child. Fork before gRPC starts threads.
//
// Thread safety: one thread. Errors: told on standard error; the calls then fail.

#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

namespace hotrow::bench {

// What one message may hold.
inline constexpr size_t kLargestReply = (size_t{4} << 20) - (size_t{64} << 10);

inline bool ReadAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = ::read(fd, data, size);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

inline bool WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = ::write(fd, data, size);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// A forked child that serves; killed at the end.
class Child {
 public:
  explicit Child(const std::function<void()>& serve) : pid_(fork()) {
    if (pid_ == 0) {
      serve();
      _exit(0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

// Answers {u32 request bytes, u32 reply bytes, request} with a reply of that size.
inline void ServeRaw(int listener) {
  const int fd = accept(listener, nullptr, nullptr);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // refused by a Unix socket: no harm
  std::vector<char> request(kLargestReply);
  std::vector<char> reply(kLargestReply, 'r');
  uint32_t sizes[2];
  while (ReadAll(fd, reinterpret_cast<char*>(sizes), sizeof(sizes))) {
    if (!ReadAll(fd, request.data(), sizes[0]) || !WriteAll(fd, reply.data(), sizes[1])) return;
  }
}

inline int ListenOn(const sockaddr* address, socklen_t size) {
  const int fd = socket(address->sa_family, SOCK_STREAM, 0);
  if (bind(fd, address, size) != 0 || listen(fd, 1) != 0) std::perror("listen");
  return fd;
}

inline int ListenTcp() {
  const sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  return ListenOn(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

inline int ListenUnix() {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hotrow-bench-%d", getpid());
  return ListenOn(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

inline int ConnectTo(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int fd = socket(address.ss_family, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) std::perror("connect");
  const int on = 1;
  if (address.ss_family == AF_INET) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

// A call for `rows` rows: 8 bytes a row there, row_bytes a row back.
inline std::function<bool(int64_t)> RawCall(int fd, int64_t row_bytes) {
  return [fd, row_bytes, buffer = std::vector<char>(kLargestReply)](int64_t rows) mutable {
    const uint32_t sizes[2] = {static_cast<uint32_t>(rows * 8),
                               static_cast<uint32_t>(rows * row_bytes)};
    return WriteAll(fd, reinterpret_cast<const char*>(sizes), sizeof(sizes)) &&
           WriteAll(fd, buffer.data(), sizes[0]) && ReadAll(fd, buffer.data(), sizes[1]);
  };
}

}  // namespace hotrow::bench
