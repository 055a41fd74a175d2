#include "client/src/request_queue.h"

#include <utility>

#include "client/src/client_error.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

absl::StatusOr<std::pair<uint64_t, Reply>> Decode(RequestQueue::Kind kind,
                                                  const grpc::ByteBuffer& message) {
  if (kind == RequestQueue::Kind::kPull) {
    absl::StatusOr<wire::PullResponse> response = wire::DecodePullResponse(message);
    if (!response.ok()) return response.status();
    const uint64_t id = response->request_id;
    return std::pair<uint64_t, Reply>(id, *std::move(response));
  }
  absl::StatusOr<wire::PushResponse> response = wire::DecodePushResponse(message);
  if (!response.ok()) return response.status();
  const uint64_t id = response->request_id;
  return std::pair<uint64_t, Reply>(id, *std::move(response));
}

// What the shard is to call a request tells its attempts apart: a late reply to an earlier one must
// not be taken for the answer to what was sent since, which may be less.
constexpr int kAttemptBits = 16;

uint64_t WireId(uint64_t request_id, int attempts) {
  constexpr uint64_t kMask = (uint64_t{1} << kAttemptBits) - 1;
  return (request_id << kAttemptBits) | (static_cast<uint64_t>(attempts) & kMask);
}

// Servers say their number at most; the address is what a reader can act on.
void NameShardIn(Reply& reply, uint32_t shard, const std::string& address) {
  const auto name = [&](wire::ErrorInfo& error) {
    error.shard = -1;
    NameShard(error, shard, address);
  };
  if (auto* pull = std::get_if<wire::PullResponse>(&reply)) {
    name(pull->error);
    return;
  }
  auto& push = std::get<wire::PushResponse>(reply);
  name(push.error);
  for (wire::SubPushResult& result : push.results) name(result.error);
}

}  // namespace

void RequestQueue::Enqueue(std::shared_ptr<ShardRequest> request) {
  TimePoint deadline = request->deadline();
  {
    MutexLock lock(mutex_);
    if (entries_.empty() && stream_ != nullptr) {  // nobody asked meanwhile: the shard may be back
      away_since_ = Never();
      turned_away_ = false;
    }
    if (kind_ == Kind::kPull) deadline = std::min(deadline, GiveUpAt());
    entries_.emplace(next_id_++, Entry{.request = std::move(request)});
  }
  alarm_.WakeBy(deadline);  // last: an alarm that rings must find the request
}

bool RequestQueue::MaySend(uint64_t request_id) const {
  const uint64_t oldest = entries_.begin()->first;
  const bool crowded = kind_ == Kind::kPush && let_in_ < kSendWindow;
  if (sent_ >= (crowded || oldest <= suspect_until_ ? 1 : kSendWindow)) return false;
  // A server recognises what is sent again by its last answers, so pushes do not run ahead of one
  // that is not answered.
  return kind_ == Kind::kPull || request_id - oldest < static_cast<uint64_t>(kSendWindow);
}

RequestQueue::Outgoing RequestQueue::TakeNext() {
  MutexLock lock(mutex_);
  if (stream_ == nullptr || !failed_.ok() || writing_ || sent_ >= kSendWindow) return {};
  for (auto& [id, entry] : entries_) {
    if (entry.state == State::kEncoding) return {};  // for a stream that is gone: it comes first
    if (entry.state != State::kWaiting) continue;
    // Order matters more than speed after a refusal: nothing overtakes what waits to be sent again.
    if (entry.not_before > Now() || !MaySend(id) || !HasLeave(entry)) return {};
    entry.state = State::kEncoding;
    if (++entry.attempts == 1) budget_.CountRequest();
    ++sent_;
    writing_ = true;
    return {stream_, entry.request, id, WireId(id, entry.attempts)};
  }
  return {};
}

// Of the budget, when its last attempt was refused for want of room.
bool RequestQueue::HasLeave(Entry& entry) {
  if (!entry.charged) return true;
  const TimePoint now = Now();
  if (!budget_.TryTake(now)) {
    entry.not_before = budget_.NextAt(now);
    alarm_.WakeBy(entry.not_before);
    return false;
  }
  entry.charged = false;
  return true;
}

void RequestQueue::Pump() {
  Outgoing next = TakeNext();
  while (next.stream != nullptr) {
    const grpc::ByteBuffer message = next.request->Encode(next.wire_id);
    if (EndEncoding(next)) {
      // A write that a broken stream drops is not lost: Detach puts its request back.
      next.stream->Write(message);
      return;
    }
    next = TakeNext();
  }
  FailIfOver();
}

// False when the stream or the queue ended meanwhile: then the request waits again.
bool RequestQueue::EndEncoding(const Outgoing& encoded) {
  bool current = false;
  TimePoint deadline;
  {
    MutexLock lock(mutex_);
    deadline = encoded.request->deadline();
    current = stream_ == encoded.stream && failed_.ok();
    entries_.at(encoded.request_id).state = current ? State::kSent : State::kWaiting;
  }
  alarm_.WakeBy(deadline);  // which may have passed unseen
  return current;
}

void RequestQueue::Attach(std::shared_ptr<MessageStream> stream) {
  {
    MutexLock lock(mutex_);
    if (IsAway()) NoteAbsence(Now());
    stream_ = std::move(stream);
    turned_away_ = false;
    if (entries_.empty()) away_since_ = Never();
    writing_ = false;
  }
  Pump();
}

void RequestQueue::NoteTrouble(const absl::Status& why) {
  MutexLock lock(mutex_);
  trouble_ = why;
}

void RequestQueue::Detach() {
  MutexLock lock(mutex_);
  if (away_since_ == Never()) away_since_ = Now();
  stream_ = nullptr;
  writing_ = false;
  sent_ = 0;
  alarm_.WakeBy(GiveUpAt());
  for (auto& [id, entry] : entries_) {
    if (entry.state == State::kSent) entry.state = State::kWaiting;
  }
}

void RequestQueue::OnWritten(const MessageStream& stream) {
  {
    MutexLock lock(mutex_);
    if (stream_.get() != &stream) return;
    writing_ = false;
  }
  Pump();
}

absl::Status RequestQueue::OnMessage(const grpc::ByteBuffer& message) {
  absl::StatusOr<std::pair<uint64_t, Reply>> decoded = Decode(kind_, message);
  if (!decoded.ok()) {
    const absl::Status status = NameShard(decoded.status(), shard_, address_);
    CountDamage(status);
    return status;
  }
  NameShardIn(decoded->second, shard_, address_);
  const uint64_t request_id = decoded->first >> kAttemptBits;
  std::shared_ptr<ShardRequest> request;
  int attempts = 0;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(request_id);
    // Replies to requests that have ended at their deadline come late.
    if (found == entries_.end() || found->second.state != State::kSent) return absl::OkStatus();
    if (decoded->first != WireId(request_id, found->second.attempts)) return absl::OkStatus();
    found->second.state = State::kAnswered;
    --sent_;
    request = found->second.request;
    attempts = found->second.attempts;
  }
  Settle(request_id, request->OnReply(std::move(decoded->second), attempts));
  Pump();
  return absl::OkStatus();
}

// False when a pull has used up the budget. A push whose predecessor was refused for want of room
// is refused as out of order: its retry is part of the same trouble.
bool RequestQueue::MayTryAgain(Entry& entry, const Again& again) {
  const bool no_room = again.why.kind == wire::ErrorKind::kOverloaded;
  const bool behind = again.why.kind == wire::ErrorKind::kOutOfOrder && let_in_ < kSendWindow;
  if (no_room) let_in_ = 0;
  if (kind_ == Kind::kPull) return !no_room || budget_.TryTake(Now());
  entry.charged = no_room || behind;
  return true;
}

// Those that wait out outages have time again from now on.
void RequestQueue::NoteAbsence(TimePoint now) {
  for (auto& [id, entry] : entries_) {
    const bool free = entry.state == State::kWaiting || entry.state == State::kSent;
    if (free) entry.request->ShardIsAway(now);
  }
}

// Whether the shard takes requests.
void RequestQueue::NoteAnswer(const std::optional<Again>& again) {
  if (IsAway()) NoteAbsence(Now());
  turned_away_ = again.has_value() && again->why.kind == wire::ErrorKind::kUnavailable;
  if (!turned_away_) {
    away_since_ = Never();
  } else if (away_since_ == Never()) {
    away_since_ = Now();
    alarm_.WakeBy(GiveUpAt());
  }
}

void RequestQueue::Settle(uint64_t request_id, const std::optional<Again>& again) {
  std::shared_ptr<ShardRequest> request;
  absl::Status failed;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(request_id);
    if (found == entries_.end()) return;
    failed = failed_;
    request = found->second.request;
    // One that no stream brought says nothing of the shard as it is now.
    if (stream_ != nullptr) NoteAnswer(again);
    if (!again.has_value()) let_in_ = std::min(let_in_ + 1, kSendWindow);
    if (again.has_value() && failed.ok() && !MayTryAgain(found->second, *again)) {
      failed = wire::ToStatus(again->why);
    }
    if (again.has_value() && failed.ok()) {
      found->second.state = State::kWaiting;
      found->second.refusal = again->why;
      found->second.not_before = Now() + again->after;
      alarm_.WakeBy(found->second.not_before);
    } else {
      entries_.erase(found);
    }
  }
  if (again.has_value() && !failed.ok()) request->OnFailure(failed);
}

void RequestQueue::CountDamage(const absl::Status& status) {
  const int limit = kind_ == Kind::kPull ? kMaxDamagedPulls : kMaxDamagedPushes;
  std::vector<std::shared_ptr<ShardRequest>> failed;
  {
    MutexLock lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const bool sent = entry->second.state == State::kSent;
      if (sent) suspect_until_ = std::max(suspect_until_, entry->first);
      if (!sent || ++entry->second.damaged < limit) {
        ++entry;
        continue;
      }
      failed.push_back(std::move(entry->second.request));
      entry = entries_.erase(entry);
      --sent_;
    }
  }
  if (failed.empty()) return;
  const absl::Status error =
      kind_ == Kind::kPull ? status : PushesCannotGoOn(wire::FromStatus(status));
  for (const auto& request : failed) request->OnFailure(error);
}

void RequestQueue::FailIfOver() {
  absl::Status failed;
  {
    MutexLock lock(mutex_);
    failed = failed_;
  }
  if (!failed.ok()) Fail(failed);
}

void RequestQueue::Fail(const absl::Status& status) {
  std::vector<std::shared_ptr<ShardRequest>> failed;
  {
    MutexLock lock(mutex_);
    if (failed_.ok()) failed_ = status;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      // Settle and EndEncoding see failed_.
      if (entry->second.state == State::kAnswered || entry->second.state == State::kEncoding) {
        ++entry;
        continue;
      }
      failed.push_back(std::move(entry->second.request));
      entry = entries_.erase(entry);
    }
    sent_ = 0;
  }
  for (const auto& request : failed) request->OnFailure(status);
}

TimePoint RequestQueue::GiveUpAt() const {
  return IsAway() && away_since_ < Never() ? away_since_ + recovery_timeout_ : Never();
}

absl::Status RequestQueue::outage(TimePoint now) const {
  MutexLock lock(mutex_);
  return now < GiveUpAt() ? absl::OkStatus() : AwayError();
}

TimePoint RequestQueue::outage_at() const {
  MutexLock lock(mutex_);
  return GiveUpAt();
}

wire::ErrorInfo RequestQueue::refusal() const {
  MutexLock lock(mutex_);
  return entries_.empty() ? wire::ErrorInfo() : entries_.begin()->second.refusal;
}

bool RequestQueue::empty() const {
  MutexLock lock(mutex_);
  return entries_.empty();
}

TimePoint RequestQueue::OnTime(TimePoint now) {
  std::vector<std::pair<std::shared_ptr<ShardRequest>, absl::Status>> expired;
  TimePoint next = Never();
  {
    MutexLock lock(mutex_);
    if (IsAway()) NoteAbsence(now);
    const bool away = kind_ == Kind::kPull && GiveUpAt() <= now;
    if (kind_ == Kind::kPull && !away && !entries_.empty()) next = GiveUpAt();
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      Entry& waiting = entry->second;
      if (waiting.state == State::kEncoding) {  // EndEncoding wakes the alarm
        ++entry;
        continue;
      }
      if (waiting.state != State::kAnswered && (away || waiting.request->deadline() <= now)) {
        if (waiting.state == State::kSent) --sent_;
        expired.emplace_back(std::move(waiting.request),
                             away ? AwayError() : DeadlineError(waiting.refusal));
        entry = entries_.erase(entry);
        continue;
      }
      next = std::min(next, waiting.request->deadline());
      if (waiting.state == State::kWaiting && waiting.not_before > now) {
        next = std::min(next, waiting.not_before);
      }
      ++entry;
    }
  }
  for (const auto& [request, error] : expired) request->OnFailure(error);
  Pump();
  return next;
}

}  // namespace hotrow::client
