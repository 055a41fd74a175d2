// A gRPC relay in front of one shard that breaks the push stream message by message.
//
// It relays every call without looking into its messages. Streams of the method Push go through a
// FaultyPipe in each direction. A stream that has lost a message is cut soon after, as a connection
// is that lost a packet for good: nothing else would tell a client that it waits in vain. What is
// under way then is lost too.
//
// Thread safety: every method, from any thread. Ownership: its thread and calls end with it; the
// shard must outlive it. Bounds: a message is held for at most kMostHeld, a stream that has lost
// one lives for at most kLongestLife more.

#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tests/fault/faulty_pipe.h"

namespace hotrow::testing {

class MessageProxy {
 public:
  static constexpr std::chrono::milliseconds kMostHeld{5};
  static constexpr std::chrono::milliseconds kLongestLife{20};

  // `target` is HOST:PORT of the shard.
  MessageProxy(const std::string& target, const FaultRates& rates, uint64_t seed);
  ~MessageProxy();

  // Waits until every call of its clients is over and all that was held has gone on to the shard:
  // to be called when they have closed their connections. False after a minute.
  bool Settle();

  std::string address() const;  // to be dialled instead of the shard
  const FaultCounts& requests() const;
  const FaultCounts& replies() const;
  int64_t cuts() const;

 private:
  class Loop;
  class Relay;
  std::unique_ptr<Loop> loop_;
};

}  // namespace hotrow::testing
