// The requests of one kind (pull or push) to one shard: a write queue, a window of those that were
// sent, and what must be sent again.
//
// Thread safety: every method, from any thread. Order: requests are sent in the order in which they
// were enqueued, also after a break. Bounds: kSendWindow sent and unanswered requests; what waits
// is bounded by the client's byte budget. Errors: each request is settled exactly once: by its
// reply, at its deadline, by Fail, or when replies to it arrive damaged time after time.
//
// A shard that refuses for want of room (kOverloaded) is asked again within a RetryBudget. When
// that is used up a pull fails with the shard's words; a push, which belongs to the client, waits
// longer. From such a refusal on pushes go one at a time until kSendWindow in a row were let in:
// what follows a refused push is refused too.
//
// A shard is away while there is no stream, and while it answers kUnavailable, as one does that is
// being drained. Requests wait for it: that is no retry. How long it has been away counts from the
// first break or such answer to the next request that is let in. Pulls fail as Unavailable once
// that is recovery_timeout, at once if it is over already; pushes wait on, and outage() tells those
// who wait for them.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/src/alarm.h"
#include "client/src/message_stream.h"
#include "client/src/retry_budget.h"
#include "client/src/shard_request.h"
#include "kernels/base/mutex.h"

namespace hotrow::client {

inline constexpr int kSendWindow = 16;

// Sub-pushes of one partition in one message: what a window of messages may have to send again is
// then within the answers that a server keeps.
inline constexpr int64_t kMaxSubPushesOfPartition = 4;
static_assert(kSendWindow * kMaxSubPushesOfPartition <= wire::kKeptAnswers);

// Replies to one request that may arrive damaged. A push has more: it ends the session.
inline constexpr int kMaxDamagedPulls = 6;
inline constexpr int kMaxDamagedPushes = 8;

// Longer ones never end.
inline constexpr std::chrono::hours kLongestRecovery{24 * 365};

class RequestQueue {
 public:
  enum class Kind { kPull, kPush };
  RequestQueue(Kind kind, uint32_t shard, std::string address, Alarm& alarm,
               milliseconds recovery_timeout)
      : kind_(kind),
        shard_(shard),
        address_(std::move(address)),
        alarm_(alarm),
        recovery_timeout_(std::min<milliseconds>(recovery_timeout, kLongestRecovery)) {}

  // Takes the request in; Pump sends it, or settles it when Fail was called. Never calls back, so
  // that it may be used under a lock.
  void Enqueue(std::shared_ptr<ShardRequest> request);
  // Sends what may be sent.
  void Pump();

  void Attach(std::shared_ptr<MessageStream> stream);
  // The stream is gone: everything that it had sent waits again.
  void Detach();
  // What keeps the shard from being connected, for those whose deadline passes meanwhile. It names
  // the shard when that said so itself.
  void NoteTrouble(const absl::Status& why);
  // Unavailable when the shard has been away for recovery_timeout at `now`.
  absl::Status outage(TimePoint now) const;
  // When that will be; Never() while it is not away.
  TimePoint outage_at() const;
  // The last answer to the oldest request that was to be sent again; none when there is none.
  wire::ErrorInfo refusal() const;
  bool empty() const;
  void OnWritten(const MessageStream& stream);
  // InvalidArgument or DataLoss when the reply cannot be trusted: the stream must be broken, so
  // that its requests are sent again. Then they go one at a time, until it is clear whose reply it
  // was.
  absl::Status OnMessage(const grpc::ByteBuffer& message);

  // Settles everything now and from now on with `status`.
  void Fail(const absl::Status& status);
  // Settles what is past its deadline. Returns when to be called next.
  TimePoint OnTime(TimePoint now);

 private:
  // While a request is being encoded or told its reply, nobody else may touch it.
  enum class State : uint8_t { kWaiting, kEncoding, kSent, kAnswered };
  struct Entry {
    std::shared_ptr<ShardRequest> request;
    State state = State::kWaiting;
    int attempts = 0;
    int damaged = 0;       // replies that may have been its own
    bool charged = false;  // its next attempt needs leave of the budget
    TimePoint not_before{};
    wire::ErrorInfo refusal;  // why it was to be sent again, the last time
  };
  struct Outgoing {
    std::shared_ptr<MessageStream> stream;
    std::shared_ptr<ShardRequest> request;
    uint64_t request_id = 0;
    uint64_t wire_id = 0;
  };

  Outgoing TakeNext() HOTROW_EXCLUDES(mutex_);
  bool MaySend(uint64_t request_id) const HOTROW_REQUIRES(mutex_);
  bool EndEncoding(const Outgoing& encoded) HOTROW_EXCLUDES(mutex_);
  void Settle(uint64_t request_id, const std::optional<Again>& again) HOTROW_EXCLUDES(mutex_);
  bool MayTryAgain(Entry& entry, const Again& again) HOTROW_REQUIRES(mutex_);
  bool HasLeave(Entry& entry) HOTROW_REQUIRES(mutex_);
  TimePoint GiveUpAt() const HOTROW_REQUIRES(mutex_);
  absl::Status DeadlineError(const wire::ErrorInfo& refusal) const HOTROW_REQUIRES(mutex_);
  wire::ErrorInfo WhyAway() const HOTROW_REQUIRES(mutex_);
  bool IsAway() const HOTROW_REQUIRES(mutex_) { return stream_ == nullptr || turned_away_; }
  void NoteAbsence(TimePoint now) HOTROW_REQUIRES(mutex_);
  void NoteAnswer(const std::optional<Again>& again) HOTROW_REQUIRES(mutex_);
  absl::Status AwayError() const HOTROW_REQUIRES(mutex_);
  void FailIfOver() HOTROW_EXCLUDES(mutex_);
  void CountDamage(const absl::Status& status) HOTROW_EXCLUDES(mutex_);

  const Kind kind_;
  const uint32_t shard_;
  const std::string address_;
  Alarm& alarm_;
  const milliseconds recovery_timeout_;

  mutable Mutex mutex_;
  std::map<uint64_t, Entry> entries_ HOTROW_GUARDED_BY(mutex_);  // by request id: by age
  uint64_t next_id_ HOTROW_GUARDED_BY(mutex_) = 1;
  int sent_ HOTROW_GUARDED_BY(mutex_) = 0;                // kEncoding and kSent on this stream
  uint64_t suspect_until_ HOTROW_GUARDED_BY(mutex_) = 0;  // last id sent before a damaged reply
  bool writing_ HOTROW_GUARDED_BY(mutex_) = false;
  std::shared_ptr<MessageStream> stream_ HOTROW_GUARDED_BY(mutex_);  // null while disconnected
  // Never() once a request was let in, or when nobody waits and there is a stream.
  TimePoint away_since_ HOTROW_GUARDED_BY(mutex_) = Now();
  bool turned_away_ HOTROW_GUARDED_BY(mutex_) = false;  // the last answer was kUnavailable
  RetryBudget budget_ HOTROW_GUARDED_BY(mutex_){Now()};
  int let_in_ HOTROW_GUARDED_BY(mutex_) = kSendWindow;  // replies since a refusal for want of room
  absl::Status trouble_ HOTROW_GUARDED_BY(mutex_);      // as NoteTrouble was told
  absl::Status failed_ HOTROW_GUARDED_BY(mutex_);       // not OK once Fail was called
};

}  // namespace hotrow::client
