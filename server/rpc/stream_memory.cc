#include "server/rpc/stream_memory.h"

#include <algorithm>
#include <utility>

#include "proto/wire/batch_codec.h"

namespace hotrow {

StreamMemory::StreamMemory(int64_t limit_bytes)
    : limit_bytes_(std::max(limit_bytes, 3 * static_cast<int64_t>(wire::kMaxMessageBytes))) {}

bool StreamMemory::TryTake(int64_t bytes, int64_t held_bytes,
                           const std::shared_ptr<ServerCall>& waiter) {
  MutexLock lock(mutex_);
  const int64_t free_after = limit_bytes_ - used_bytes_ - bytes;
  const int64_t free_to_holders = free_after - limit_bytes_ / 2;
  if (free_after < 0 || (held_bytes > 0 && held_bytes + bytes > free_to_holders)) {
    is_short_ = is_short_ || held_bytes == 0;
    waiting_.push_back(waiter);
    return false;
  }
  used_bytes_ += bytes;
  highest_used_bytes_ = std::max(highest_used_bytes_, used_bytes_);
  return true;
}

void StreamMemory::GiveBack(int64_t bytes) {
  std::vector<std::weak_ptr<ServerCall>> waiting;
  {
    MutexLock lock(mutex_);
    used_bytes_ -= bytes;
    is_short_ = false;  // until somebody finds none again
    waiting.swap(waiting_);
  }
  // All of them: whoever finds no room waits again.
  for (const auto& waiter : waiting) {
    if (const auto call = waiter.lock()) call->WakeUp();
  }
}

bool StreamMemory::is_short() const {
  MutexLock lock(mutex_);
  return is_short_;
}

int64_t StreamMemory::used_bytes() const {
  MutexLock lock(mutex_);
  return used_bytes_;
}

int64_t StreamMemory::highest_used_bytes() const {
  MutexLock lock(mutex_);
  return highest_used_bytes_;
}

}  // namespace hotrow
