// The numbered stream of pushes of one client: its identity, the next number of each partition, and
// how many pushes are not yet acknowledged.
//
// Thread safety: every method, from any thread. Errors: once lost, a session stays lost, and
// nothing is numbered any more: SessionLost, whatever the cause was, so that no caller takes it for
// a push that is pending or for one that may be made again.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/src/time_point.h"
#include "kernels/base/mutex.h"
#include "proto/wire/batch_codec.h"

namespace hotrow::v1 {
class OpenSessionRequest;
}

namespace hotrow::client {

class Session {
 public:
  // Whose pushes these are.
  struct Worker {
    std::string job;
    uint32_t rank = 0;
    uint32_t world_size = 1;
  };

  Session(Worker worker, uint32_t partitions);

  uint64_t id() const { return id_; }
  v1::OpenSessionRequest OpenRequest() const;

  // What the owner of a partition called its incarnation when the session was opened there.
  void SetOwnerEpoch(uint32_t partition, uint64_t epoch);

  // Gives `sub_pushes` their numbers and calls `enqueue` before anything else can be numbered, so
  // that numbers go out in order. When the session is lost, lost(): then nothing was numbered.
  absl::Status Number(const std::vector<wire::SubPush*>& sub_pushes,
                      const std::function<void()>& enqueue);
  // A push begins, and is pending until Finished gets what this returned.
  uint64_t Begin();
  void Finished(uint64_t push);
  // Of the pushes that have begun so far; 0 when there was none.
  uint64_t last_begun() const;

  // Waits for the pushes that began up to `last`, whatever others do meanwhile; returns how many of
  // them are still pending: 0, or more at the deadline and when the wait was interrupted.
  int64_t WaitUntilFinished(uint64_t last, TimePoint deadline);

  // The first cause is kept.
  void MarkLost(const absl::Status& cause);
  // OK, or SessionLost with the words, shard and hint of that cause.
  absl::Status lost() const;

 private:
  const Worker worker_;
  std::array<std::byte, 16> client_uid_;
  uint64_t id_ = 0;

  mutable Mutex mutex_;
  CondVar advanced_;  // the oldest pending push has finished
  std::vector<uint64_t> next_sequence_ HOTROW_GUARDED_BY(mutex_);  // (partitions)
  std::vector<uint64_t> owner_epoch_ HOTROW_GUARDED_BY(mutex_);    // (partitions) 0: unknown
  uint64_t last_begun_ HOTROW_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> pending_ HOTROW_GUARDED_BY(mutex_);
  absl::Status lost_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow::client
