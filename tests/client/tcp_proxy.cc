#include "tests/client/tcp_proxy.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>

namespace hotrow::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

TcpProxy::TcpProxy(int target_port) : target_port_(target_port) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
  if (listen(listener_, 16) != 0) std::abort();
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] {
    while (!stopping_) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client >= 0) Serve(client);
    }
  });
}

TcpProxy::~TcpProxy() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  CutAll();
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
}

void TcpProxy::CutAll() {
  const std::lock_guard lock(mutex_);
  for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
}

void TcpProxy::Refuse(bool refuse) {
  refusing_ = refuse;
  if (refuse) CutAll();
}

void TcpProxy::SwallowAll() {
  const std::lock_guard lock(mutex_);
  swallowed_ = connections_;
}

void TcpProxy::Serve(int client) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(target_port_);
  if (refusing_ ||
      connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(client);
    close(server);
    return;
  }
  const std::lock_guard lock(mutex_);
  sockets_.push_back(client);
  sockets_.push_back(server);
  const int64_t number = connections_++;
  threads_.emplace_back([=, this] { Forward(client, server, number); });
  threads_.emplace_back([=, this] { Forward(server, client, number); });
}

void TcpProxy::Forward(int from, int to, int64_t connection) {
  char bytes[16384];
  for (ssize_t got = recv(from, bytes, sizeof(bytes), 0); got > 0;
       got = recv(from, bytes, sizeof(bytes), 0)) {
    if (connection < swallowed_) continue;
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t now = send(to, bytes + sent, got - sent, MSG_NOSIGNAL);
      if (now <= 0) return;
      sent += now;
    }
    forwarded_bytes_ += got;
  }
  shutdown(to, SHUT_RDWR);
}

RandomCutter::RandomCutter(const std::vector<std::unique_ptr<TcpProxy>>& proxies, uint64_t seed,
                           int64_t most_bytes) {
  thread_ = std::thread([this, &proxies, seed, most_bytes] {
    std::mt19937_64 random(seed);
    while (!done_) {
      TcpProxy& proxy = *proxies[random() % proxies.size()];
      const int64_t bytes = 1 + static_cast<int64_t>(random() % most_bytes);
      const int64_t until = proxy.forwarded_bytes() + bytes;
      while (!done_ && proxy.forwarded_bytes() < until) std::this_thread::yield();
      if (done_) return;
      proxy.CutAll();
      ++cuts_;  // there was a connection: it has forwarded something
    }
  });
}

void RandomCutter::Stop() {
  done_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace hotrow::testing
