// StreamMemory: the bytes that all streams of a server may hold together: accepted requests, the
// replies that they will get, and replies that their clients have not taken.
//
// Room is shared out fairly: a stream that holds something may hold no more than it leaves free to
// the others. So N clients that read nothing end with about an (N+1)th each, and one is always left
// for whoever comes.
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

  int64_t used_bytes() const;
  int64_t highest_used_bytes() const;

 private:
  const int64_t limit_bytes_;
  mutable Mutex mutex_;
  int64_t used_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  int64_t highest_used_bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<ServerCall>> waiting_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow
