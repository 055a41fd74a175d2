#include "server/shard/session_table.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <utility>

#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/hashes.h"
#include "proto/wire/status_codec.h"

namespace hotrow {
namespace {

constexpr size_t kUidBytes = 16;
constexpr size_t kMaxJobBytes = 128;
constexpr uint32_t kRetryAfterMs = 1000;

absl::Status Invalid(std::string message) {
  return wire::MakeError(wire::ErrorKind::kInvalidArgument, std::move(message));
}

absl::Status CheckMode(const v1::OpenSessionRequest& request) {
  if (request.mode() == v1::STEP_MODE_UNSPECIFIED || request.mode() == v1::STEP_MODE_ASYNC) {
    if (request.max_steps_ahead() == 0) return absl::OkStatus();
    return Invalid("OpenSession: max_steps_ahead needs mode \"bounded\"");
  }
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kUnimplemented;
  error.message = fmt::format("OpenSession: mode = {} is not offered by this version",
                              v1::StepMode_Name(request.mode()));
  error.hint = "use mode \"async\"";
  return wire::ToStatus(error);
}

absl::Status CheckRequest(const v1::OpenSessionRequest& request) {
  const std::string& uid = request.client_uid();
  if (uid.size() != kUidBytes) {
    return Invalid(
        fmt::format("OpenSession: client_uid must have {} bytes, not {}", kUidBytes, uid.size()));
  }
  const uint64_t expected = wire::SessionId(std::as_bytes(std::span(uid)), request.restart_count());
  if (request.session() != expected) {
    return Invalid("OpenSession: session is not XXH64(client_uid, restart_count)");
  }
  if (request.job().size() > kMaxJobBytes) {
    return Invalid(fmt::format("OpenSession: job must have at most {} bytes", kMaxJobBytes));
  }
  if (request.rank() >= std::max(request.world_size(), 1U)) {
    return Invalid(fmt::format("OpenSession: rank {} is not below world_size {}", request.rank(),
                               request.world_size()));
  }
  return CheckMode(request);
}

// For a line of the log: a job name may hold any character.
std::string NameOf(const v1::OpenSessionRequest& request) {
  std::string job = request.job();
  std::replace_if(
      job.begin(), job.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return fmt::format("job '{}', rank {} of {}", job, request.rank(),
                     std::max(request.world_size(), 1U));
}

}  // namespace

absl::Status SessionTable::Open(const v1::OpenSessionRequest& request, TimePoint now,
                                std::vector<uint64_t>* ended) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  Told told;
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = Let(request, now, ended);
    told = std::exchange(told_, {});
  }
  // Not under the lock, which every push takes.
  for (const std::string& line : told.opened) SPDLOG_INFO("{}", line);
  for (const std::string& line : told.warnings) SPDLOG_WARN("{}", line);
  return status;
}

absl::Status SessionTable::Let(const v1::OpenSessionRequest& request, TimePoint now,
                               std::vector<uint64_t>* ended) {
  const auto open = sessions_.find(request.session());
  if (open == sessions_.end()) {
    ExpireIdle(now, ended);
    return Admit(request, now, ended);
  }
  if (open->second.client_uid != request.client_uid()) {
    return Invalid("OpenSession: another client has this session id; choose another client_uid");
  }
  open->second.last_used = now;
  return absl::OkStatus();
}

absl::Status SessionTable::Admit(const v1::OpenSessionRequest& request, TimePoint now,
                                 std::vector<uint64_t>* ended) {
  const uint64_t session = request.session();
  if (ends_.contains(session)) return wire::ToStatus(Lost(session));
  const auto older = by_client_.find(request.client_uid());
  if (older != by_client_.end()) {
    const uint64_t older_session = older->second;
    if (sessions_.at(older_session).restart_count > request.restart_count()) {
      Finish(session, End::kFenced);
      return wire::ToStatus(Lost(session));
    }
    Finish(older_session, End::kFenced);
    ended->push_back(older_session);
  }
  if (absl::Status status = MakeRoom(now, ended); !status.ok()) return status;
  Session& opened = sessions_[session];
  opened = {request.client_uid(), request.restart_count(), now, NameOf(request)};
  by_client_[request.client_uid()] = session;
  told_.opened.push_back(fmt::format("session {:016x} opened: {}", session, opened.name));
  return absl::OkStatus();
}

void SessionTable::ExpireIdle(TimePoint now, std::vector<uint64_t>* ended) {
  std::vector<uint64_t> idle;
  for (const auto& [session, entry] : sessions_) {
    if (now - entry.last_used >= limits_.idle_limit) idle.push_back(session);
  }
  for (const uint64_t session : idle) Expire(session, now, ended);
}

void SessionTable::Expire(uint64_t session, TimePoint now, std::vector<uint64_t>* ended) {
  const Session& entry = sessions_.at(session);
  const auto idle = std::chrono::duration_cast<std::chrono::seconds>(now - entry.last_used);
  told_.warnings.push_back(fmt::format("session {:016x} expired after {} s without a push: {}",
                                       session, idle.count(), entry.name));
  ++expired_;
  ended->push_back(session);
  Finish(session, End::kExpired);
}

absl::Status SessionTable::NoPlace() {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kOverloaded;
  error.message = fmt::format("all {} sessions of this shard are in use", limit());
  error.hint = "close clients that are no longer needed, or raise queue.max_sessions";
  if (limit() < limits_.max_sessions) {
    error.message += ": it has no room to keep the answers to the pushes of more";
    error.hint = "close clients that are no longer needed, or give each shard fewer partitions";
  }
  error.retry_after_ms = kRetryAfterMs;
  told_.warnings.push_back(fmt::format("a client was refused: {}", error.message));
  return wire::ToStatus(error);
}

absl::Status SessionTable::MakeRoom(TimePoint now, std::vector<uint64_t>* ended) {
  if (static_cast<int64_t>(sessions_.size()) < limit()) return absl::OkStatus();
  const auto idlest = std::min_element(
      sessions_.begin(), sessions_.end(),
      [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; });
  if (idlest == sessions_.end() || now - idlest->second.last_used < kIdleLimit) return NoPlace();
  Expire(idlest->first, now, ended);
  return absl::OkStatus();
}

absl::Status SessionTable::Close(uint64_t session) {
  MutexLock lock(mutex_);
  if (sessions_.contains(session)) {
    Finish(session, End::kClosed);
    return absl::OkStatus();
  }
  const auto end = ends_.find(session);
  if (end != ends_.end() && end->second == End::kClosed) return absl::OkStatus();
  return wire::ToStatus(Lost(session));
}

int64_t SessionTable::size() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(sessions_.size());
}

uint64_t SessionTable::expired() const {
  MutexLock lock(mutex_);
  return expired_;
}

wire::ErrorInfo SessionTable::Use(uint64_t session, TimePoint now) {
  MutexLock lock(mutex_);
  const auto open = sessions_.find(session);
  if (open == sessions_.end()) return Lost(session);
  open->second.last_used = now;
  return {};
}

void SessionTable::Finish(uint64_t session, End end) {
  if (const auto open = sessions_.find(session); open != sessions_.end()) {
    by_client_.erase(open->second.client_uid);
    sessions_.erase(open);
  }
  if (!ends_.try_emplace(session, end).second) return;
  end_order_.push_back(session);
  if (end_order_.size() <= kRememberedEnds) return;
  ends_.erase(end_order_.front());
  end_order_.pop_front();
}

wire::ErrorInfo SessionTable::Lost(uint64_t session) const {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kSessionLost;
  error.message = "this shard does not know the session: it was restarted, or never opened here";
  if (const auto end = ends_.find(session); end != ends_.end()) {
    switch (end->second) {
      case End::kClosed:
        error.message = "the session has been closed";
        break;
      case End::kFenced:
        error.message = "the session was fenced: a newer life of the same client has connected";
        break;
      case End::kExpired:
        error.message = "the session expired: it pushed nothing for too long";
        break;
    }
  }
  error.hint = "connect again; pushes that were not acknowledged are not repeated for you";
  return error;
}

}  // namespace hotrow
