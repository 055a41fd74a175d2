// Acceptor: takes connections from listening sockets and hands them on, whatever happens: where the
// process or the system has run out of descriptors or memory it waits and tries again, as often as
// it must. (gRPC's own listener ends for good at the first such error.)
//
// Bounds: at most `max_connections` are open at a time; a connection beyond is closed at once, so
// that its client hears of it, and is counted. What is open is known by looking: a descriptor that
// was handed on belongs to another, who closes it without a word, but the socket behind a number
// has an inode that no later one shares. A look costs a system call a connection and happens once a
// second, and up to ten times where the bound is met.
//
// Thread safety: every method, from any thread, but Stop() and the destructor: the owner's.
// Ownership: owns the sockets and its thread; `take` owns each descriptor that it is given and is
// called on that thread only.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/ops/connection_counts.h"
#include "server/rpc/listen_socket.h"

namespace hotrow {

class Acceptor {
 public:
  struct Options {
    std::vector<ListenSocket> sockets;
    int64_t max_connections = 0;
    std::string bound = {};  // what the log calls it
    std::function<void(int descriptor)> take;
  };

  // Begins to accept.
  explicit Acceptor(Options options);
  ~Acceptor();  // stops
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Takes no connection any more and closes the sockets. Idempotent.
  void Stop();

  // Up to a second old.
  ConnectionCounts counts() const;
  // For how long there has been nothing but errors; 0: connections can be taken.
  std::chrono::milliseconds failing_for() const;
  // Whether its thread turned within that time.
  bool AliveWithin(std::chrono::milliseconds age) const;

 private:
  void Run();
  // Takes what waits at a socket. False when an error lasts.
  bool AcceptAll(int listening);
  // False when the bound is met.
  bool Admit(int descriptor);
  // Forgets what is closed, when the last look is older than `age`.
  void LookAfter(std::chrono::milliseconds age);
  void Failed(int error);
  void Recovered();

  Options options_;
  std::atomic<bool> stopping_{false};
  // Readable once it must end; -1 where there was no descriptor: then a beat finds out.
  const int stop_event_;
  std::atomic<int64_t> beat_ms_;
  std::atomic<int64_t> failing_since_ms_{0};  // 0: it is not
  std::atomic<int64_t> open_count_{0};
  std::atomic<uint64_t> accepted_{0};
  std::atomic<uint64_t> refused_{0};
  // Its thread only. Inode by descriptor, of what was handed on and not seen closed.
  std::unordered_map<int, ino_t> open_;
  std::chrono::steady_clock::time_point last_look_;
  bool stopped_ = false;  // owner only
  std::thread thread_;
};

}  // namespace hotrow
