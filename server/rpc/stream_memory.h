// StreamMemory: the bytes that all streams of a server may hold together: accepted requests, the
// replies that they will get, and replies that their clients have not taken.
//
// Room is shared out fairly: half of it is for streams that hold nothing yet, and of the rest a
// stream may hold no more than it leaves free to the others. So the first of N clients that read
// nothing end with about an (N+1)th of that half each, and those who come when it is used up still
// have their first request answered. Where even that finds no room, is_short(): clients that do not
// read are then cut sooner.
//
// Thread safety: every method, from any thread; the caller of GiveBack holds no lock of a call.
// Ownership: only watches the streams that wait. Bounds: `limit_bytes`; one entry a waiting stream.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/rpc/server_call.h"

namespace hotrow {

class StreamMemory {
 public:
  // Room for one request and its reply at least: a smaller limit would serve nobody.
  explicit StreamMemory(int64_t limit_bytes);

  // Takes room for a request of a stream that holds `held_bytes`. When there is none, `waiter` is
  // advanced once something has been given back.
  bool TryTake(int64_t bytes, int64_t held_bytes, const std::shared_ptr<ServerCall>& waiter);
  void GiveBack(int64_t bytes);

  // A stream that holds nothing waits for room.
  bool is_short() const;
  int64_t used_bytes() const;
  int64_t highest_used_bytes() const;

 private:
  const int64_t limit_bytes_;
  mutable Mutex mutex_;
  int64_t used_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool is_short_ HOTROW_GUARDED_BY(mutex_) = false;
  int64_t highest_used_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<ServerCall>> waiting_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow
