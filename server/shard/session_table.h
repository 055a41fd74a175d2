// SessionTable: who may push.
//
// A client is known by its uid; each life of it by (uid, restart_count), from which the session id
// follows. A higher restart count fences the older session: its late pushes are refused.
//
// Thread safety: every method, from any thread; one short lock a message, none a row. A session
// that was ended is refused by whatever calls Use afterwards. Bounds: `max_sessions` open sessions,
// or as many as the shard has room to keep answers for, if that is less.
// A session that opened and pushed nothing for `idle_limit` is ended when another one opens. When
// all places are taken, the one that has been idle longest is ended if it was idle for kIdleLimit;
// else the new one is refused. Ended session ids are remembered, the last kRememberedEnds of them,
// so that a late OpenSession or push cannot revive one with empty windows. Errors: kSessionLost for
// whoever is not, or no longer, let in.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "proto/wire/batch_codec.h"

namespace hotrow::v1 {
class OpenSessionRequest;  // generated
}

namespace hotrow {

class SessionTable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kIdleLimit{15};
  static constexpr size_t kRememberedEnds = 65536;

  struct Limits {
    int64_t max_sessions = 0;
    std::chrono::milliseconds idle_limit{};
    int64_t sessions_that_fit = INT64_MAX;  // SessionsWhoseRingsFit
  };
  explicit SessionTable(const Limits& limits) : limits_(limits) {}

  // Idempotent. `ended` gets the sessions that this one fenced or displaced, and those that were
  // idle for too long, also when this one is refused; their windows must be forgotten.
  // InvalidArgument, kUnimplemented, kSessionLost or kOverloaded otherwise.
  absl::Status Open(const v1::OpenSessionRequest& request, TimePoint now,
                    std::vector<uint64_t>* ended);
  // Closing twice is success; a session that is unknown or was fenced gives kSessionLost.
  absl::Status Close(uint64_t session);

  // Success, and noted as used, if the session is open.
  wire::ErrorInfo Use(uint64_t session, TimePoint now);

  int64_t size() const;
  int64_t limit() const { return std::min(limits_.max_sessions, limits_.sessions_that_fit); }
  uint64_t expired() const;  // since the process started

 private:
  enum class End : uint8_t { kClosed, kFenced, kExpired };
  struct Session {
    std::string client_uid;
    uint64_t restart_count = 0;
    TimePoint last_used;
    std::string name;  // "job 'ctr', rank 3 of 8", for the log
  };

  // Lines for the log, which are written after the lock.
  struct Told {
    std::vector<std::string> opened;
    std::vector<std::string> warnings;
  };

  absl::Status Let(const v1::OpenSessionRequest& request, TimePoint now,
                   std::vector<uint64_t>* ended) HOTROW_REQUIRES(mutex_);
  absl::Status Admit(const v1::OpenSessionRequest& request, TimePoint now,
                     std::vector<uint64_t>* ended) HOTROW_REQUIRES(mutex_);
  void ExpireIdle(TimePoint now, std::vector<uint64_t>* ended) HOTROW_REQUIRES(mutex_);
  void Expire(uint64_t session, TimePoint now, std::vector<uint64_t>* ended)
      HOTROW_REQUIRES(mutex_);
  absl::Status NoPlace() HOTROW_REQUIRES(mutex_);
  absl::Status MakeRoom(TimePoint now, std::vector<uint64_t>* ended) HOTROW_REQUIRES(mutex_);
  void Finish(uint64_t session, End end) HOTROW_REQUIRES(mutex_);
  wire::ErrorInfo Lost(uint64_t session) const HOTROW_REQUIRES(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  uint64_t expired_ HOTROW_GUARDED_BY(mutex_) = 0;
  Told told_ HOTROW_GUARDED_BY(mutex_);  // of the Open() that is under way
  absl::flat_hash_map<uint64_t, Session> sessions_ HOTROW_GUARDED_BY(mutex_);
  // client_uid -> its open session
  absl::flat_hash_map<std::string, uint64_t> by_client_ HOTROW_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, End> ends_ HOTROW_GUARDED_BY(mutex_);
  std::deque<uint64_t> end_order_ HOTROW_GUARDED_BY(mutex_);  // keys of ends_, oldest first
};

}  // namespace hotrow
