#include "client/src/request_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
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

}  // namespace

void RequestQueue::Enqueue(std::shared_ptr<ShardRequest> request) {
  alarm_.WakeBy(request->deadline());
  MutexLock lock(mutex_);
  entries_.emplace(next_id_++, Entry{.request = std::move(request)});
}

RequestQueue::Outgoing RequestQueue::TakeNext() {
  MutexLock lock(mutex_);
  if (stream_ == nullptr || !failed_.ok() || writing_ || sent_ >= kSendWindow) return {};
  for (auto& [id, entry] : entries_) {
    if (entry.state != State::kWaiting) continue;
    // Order matters more than speed after a refusal: nothing overtakes what waits to be sent again.
    if (entry.not_before > Now()) return {};
    entry.state = State::kSent;
    ++entry.attempts;
    ++sent_;
    writing_ = true;
    return {stream_, entry.request, id};
  }
  return {};
}

void RequestQueue::Pump() {
  const Outgoing next = TakeNext();
  if (next.stream == nullptr) {
    FailIfOver();
    return;
  }
  // A write that a broken stream drops is not lost: Detach puts its request back.
  next.stream->Write(next.request->Encode(next.request_id));
}

void RequestQueue::Attach(std::shared_ptr<MessageStream> stream) {
  {
    MutexLock lock(mutex_);
    stream_ = std::move(stream);
    writing_ = false;
  }
  Pump();
}

void RequestQueue::Detach(const absl::Status& why) {
  MutexLock lock(mutex_);
  last_break_ = why;
  stream_ = nullptr;
  writing_ = false;
  sent_ = 0;
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
    // A damaged pull is the caller's to know. Pushes stay: their numbers are open.
    return kind_ == Kind::kPull ? FailSent(status) : status;
  }
  std::shared_ptr<ShardRequest> request;
  int attempts = 0;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(decoded->first);
    // Replies to requests that have ended at their deadline come late.
    if (found == entries_.end() || found->second.state != State::kSent) return absl::OkStatus();
    found->second.state = State::kAnswered;
    --sent_;
    request = found->second.request;
    attempts = found->second.attempts;
  }
  Settle(decoded->first, request->OnReply(std::move(decoded->second), attempts));
  Pump();
  return absl::OkStatus();
}

void RequestQueue::Settle(uint64_t request_id, std::optional<milliseconds> again) {
  std::shared_ptr<ShardRequest> request;
  absl::Status failed;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(request_id);
    if (found == entries_.end()) return;
    failed = failed_;
    request = found->second.request;
    if (again.has_value() && failed.ok()) {
      found->second.state = State::kWaiting;
      found->second.not_before = Now() + *again;
      alarm_.WakeBy(found->second.not_before);
    } else {
      entries_.erase(found);
    }
  }
  if (again.has_value() && !failed.ok()) request->OnFailure(failed);
}

absl::Status RequestQueue::FailSent(const absl::Status& status) {
  std::vector<std::shared_ptr<ShardRequest>> failed;
  {
    MutexLock lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      if (entry->second.state != State::kSent) {
        ++entry;
        continue;
      }
      failed.push_back(std::move(entry->second.request));
      entry = entries_.erase(entry);
      --sent_;
    }
  }
  for (const auto& request : failed) request->OnFailure(status);
  return status;
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
      if (entry->second.state == State::kAnswered) {  // Settle sees failed_
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

absl::Status RequestQueue::DeadlineError() {
  if (stream_ == nullptr) {
    return NameShard(wire::MakeError(wire::ErrorKind::kUnavailable,
                                     absl::StrCat("not reachable within the deadline (",
                                                  std::string(last_break_.message()), ")")),
                     shard_, address_);
  }
  return NameShard(
      wire::ToStatus({.kind = wire::ErrorKind::kDeadlineExceeded,
                      .message = "no answer within the deadline",
                      .hint = "The shard is connected but slow or stopped; see its status."}),
      shard_, address_);
}

TimePoint RequestQueue::OnTime(TimePoint now) {
  std::vector<std::shared_ptr<ShardRequest>> expired;
  TimePoint next = Never();
  absl::Status error;
  {
    MutexLock lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      Entry& waiting = entry->second;
      if (waiting.state != State::kAnswered && waiting.request->deadline() <= now) {
        if (waiting.state == State::kSent) --sent_;
        expired.push_back(std::move(waiting.request));
        entry = entries_.erase(entry);
        continue;
      }
      next = std::min(next, waiting.request->deadline());
      if (waiting.state == State::kWaiting && waiting.not_before > now) {
        next = std::min(next, waiting.not_before);
      }
      ++entry;
    }
    if (!expired.empty()) error = DeadlineError();
  }
  for (const auto& request : expired) request->OnFailure(error);
  Pump();
  return next;
}

}  // namespace hotrow::client
