// A TCP proxy on loopback that can cut every connection, in the middle of whatever they carry.
//
// Thread safety: CutAll from any thread. Ownership: its threads end with it; proxies outlive their
// cutter.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hotrow::testing {

class TcpProxy {
 public:
  explicit TcpProxy(int target_port);
  ~TcpProxy();

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Resets all connections. Those that come later are served again.
  void CutAll();
  // Drops what arrives on the connections of now, without a word. Those that come later are served.
  void SwallowAll();
  // Refuse: cuts all connections, and those that come later at once, until told otherwise.
  void Refuse(bool refuse);
  int64_t forwarded_bytes() const { return forwarded_bytes_.load(); }

 private:
  void Serve(int client);
  void Forward(int from, int to, int64_t connection);

  const int target_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int64_t> forwarded_bytes_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> refusing_ = false;
  std::atomic<int64_t> swallowed_ = 0;  // connections below this number
  std::mutex mutex_;
  int64_t connections_ = 0;
  std::vector<int> sockets_;  // open connections, both sides
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// Cuts proxies, one after the other at random, each when it has forwarded a random number of bytes
// below `most_bytes`, so that every part of a message is hit. Ends its thread with it.
class RandomCutter {
 public:
  RandomCutter(const std::vector<std::unique_ptr<TcpProxy>>& proxies, uint64_t seed,
               int64_t most_bytes);
  ~RandomCutter() { Stop(); }
  void Stop();
  int cuts() const { return cuts_; }  // of proxies with connections

 private:
  std::atomic<bool> done_ = false;
  std::atomic<int> cuts_ = 0;
  std::thread thread_;
};

}  // namespace hotrow::testing
