#include "client/src/shard_channel.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/backoff.h"
#include "client/src/client_error.h"
#include "client/src/interruptible.h"
#include "client/src/unary_call.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

// A shard that does not even say who it is within this time is asked again.
constexpr milliseconds kAttemptTimeout{5000};

bool IsPermanent(const absl::Status& status) {
  const wire::ErrorKind kind = wire::FromStatus(status).kind;
  return !IsTransient(kind) && kind != wire::ErrorKind::kInternal;
}

std::string Summary(const wire::ShardMap& map) {
  return absl::StrCat("[", absl::StrJoin(map.shards(), ", "), "] with ", map.partitions(),
                      " partitions");
}

}  // namespace

grpc::ChannelArguments ChannelArgumentsFor(milliseconds keepalive) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(2 * wire::kMaxMessageBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(2 * wire::kMaxMessageBytes));
  arguments.SetCompressionAlgorithm(GRPC_COMPRESS_NONE);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 3000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A connection that a middlebox has dropped without a word is noticed: then it is made anew, and
  // what is pending goes out again. A shard that does nothing for that long is met the same way.
  const int keepalive_ms = static_cast<int>(std::min(keepalive, milliseconds(INT_MAX)).count());
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as keepalive wants
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // the numbers of pushes are the retry
  return arguments;
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target, milliseconds keepalive) {
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(),
                                   ChannelArgumentsFor(keepalive));
}

ShardChannel::ShardChannel(Options options)
    : options_(std::move(options)),
      channel_(MakeChannel(options_.target, options_.keepalive)),
      admin_(v1::AdminService::NewStub(channel_)),
      parameter_(v1::ParameterService::NewStub(channel_)),
      pulls_(RequestQueue::Kind::kPull, options_.shard, options_.address, *options_.alarm,
             options_.recovery_timeout),
      pushes_(RequestQueue::Kind::kPush, options_.shard, options_.address, *options_.alarm,
              options_.recovery_timeout) {}

void ShardChannel::Start() {
  {
    MutexLock lock(mutex_);
    next_attempt_ = Now();
  }
  options_.alarm->WakeBy(Now());
}

absl::Status ShardChannel::WaitUntilUp(TimePoint deadline) {
  MutexLock lock(mutex_);
  while (state_ != State::kUp && over_.ok()) {
    if (!WaitUntil(changed_, mutex_, deadline) && state_ != State::kUp && over_.ok()) {
      return NotReached(last_error_, options_.shard, options_.address);
    }
  }
  return over_;
}

absl::Status ShardChannel::trouble() {
  MutexLock lock(mutex_);
  return over_.ok() ? Named(last_error_) : over_;
}

void ShardChannel::Stop() {
  GiveUp(ClosedError());
  {
    MutexLock lock(mutex_);
    while (cancel_call_ != nullptr || pull_stream_ != nullptr || push_stream_ != nullptr) {
      changed_.Wait(mutex_);
    }
  }
  completions_.Stop();
}

void ShardChannel::GiveUp(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    if (over_.ok()) over_ = status;
    state_ = State::kOver;
    if (cancel_call_ != nullptr) cancel_call_();
    if (pull_stream_ != nullptr) pull_stream_->Cancel();
    if (push_stream_ != nullptr) push_stream_->Cancel();
    changed_.NotifyAll();
  }
  pulls_.Fail(status);
  pushes_.Fail(status);
}

bool ShardChannel::Advance(State from, State to) {
  MutexLock lock(mutex_);
  if (state_ != from) return false;
  state_ = to;
  changed_.NotifyAll();
  return true;
}

TimePoint ShardChannel::OnTime(TimePoint now) {
  bool due = false;
  TimePoint next = Never();
  {
    MutexLock lock(mutex_);
    if (state_ == State::kWaiting) {
      due = next_attempt_ <= now;
      if (due) {
        state_ = State::kAsking;
      } else {
        next = next_attempt_;
      }
    }
  }
  if (due) Ask();
  return std::min({next, pulls_.OnTime(now), pushes_.OnTime(now)});
}

template <typename Response, typename Issue, typename Done>
void ShardChannel::Call(Issue issue, Done done) {
  MutexLock lock(mutex_);
  if (state_ == State::kOver) return;
  auto* call = UnaryCall<Response>::Start(
      Now() + kAttemptTimeout, issue,
      [this, done](const grpc::Status& status, const Response& response) {
        {
          MutexLock relock(mutex_);
          cancel_call_ = nullptr;  // first: `done` may make the next call
          changed_.NotifyAll();
        }
        done(status, response);
      });
  cancel_call_ = [call] { call->Cancel(); };
  call->Await();
}

void ShardChannel::Ask() {
  Call<v1::GetShardMapResponse>(
      [this](grpc::ClientContext* context) {
        return admin_->AsyncGetShardMap(context, {}, &completions_.queue());
      },
      [this](const grpc::Status& status, const v1::GetShardMapResponse& response) {
        OnAnswer(status, response);
      });
}

absl::Status ShardChannel::CheckCluster(const v1::GetShardMapResponse& response) const {
  const absl::StatusOr<wire::ShardMap> map = wire::ShardMap::FromProto(response.shard_map());
  if (!map.ok()) return Named(map.status());
  const wire::ShardMap& first = *options_.map;
  bool same = map->version() == first.version() && map->timeline() == first.timeline() &&
              map->partitions() == first.partitions() && map->shards() == first.shards();
  for (uint32_t p = 0; same && p < first.partitions(); ++p) same = map->owner(p) == first.owner(p);
  if (!same) {
    return Named(wire::ToStatus(
        {.kind = wire::ErrorKind::kInvalidArgument,
         .message = absl::StrCat("it has another shard map, ", Summary(*map),
                                 ", than the shard asked first, ", Summary(first)),
         .hint = "Give every server the same shards list, in one order, and partitions."}));
  }
  if (!response.cluster_id().empty() && !options_.cluster_id.empty() &&
      response.cluster_id() != options_.cluster_id) {
    return Named(
        wire::ToStatus({.kind = wire::ErrorKind::kInvalidArgument,
                        .message = absl::StrCat("it belongs to cluster ", response.cluster_id(),
                                                ", the shard asked first to ", options_.cluster_id),
                        .hint = "Check the shard list and the data directories of the servers."}));
  }
  return absl::OkStatus();
}

absl::Status ShardChannel::CheckIdentity(const v1::GetShardMapResponse& response) {
  if (response.shard() != options_.shard) {
    return Named(wire::ToStatus(
        {.kind = wire::ErrorKind::kInvalidArgument,
         .message = absl::StrCat("the server there calls itself shard ", response.shard()),
         .hint = "Give each server its own --shard number, its place in the shards "
                 "list; check address_map."}));
  }
  const absl::Status cluster = CheckCluster(response);
  if (!cluster.ok()) return cluster;
  MutexLock lock(mutex_);
  const bool known = options_.session != nullptr && server_start_id_ != 0;
  if (known && server_start_id_ != response.server_start_id()) {
    return Named(wire::ToStatus(
        {.kind = wire::ErrorKind::kSessionLost,
         .message = "it was restarted, and what this client had pushed there may be lost",
         .hint = "Tables in memory do not survive a restart: connect anew and restore them."}));
  }
  server_start_id_ = response.server_start_id();
  return absl::OkStatus();
}

void ShardChannel::OnAnswer(const grpc::Status& status, const v1::GetShardMapResponse& response) {
  if (!status.ok()) {
    TryLater(Heard(status));
    return;
  }
  const absl::Status identity = CheckIdentity(response);
  if (!identity.ok()) {
    if (options_.session != nullptr) options_.session->MarkLost(identity);
    GiveUp(identity);
  } else if (options_.session == nullptr) {
    if (Advance(State::kAsking, State::kStarting)) StartStreams();
  } else {
    if (Advance(State::kAsking, State::kOpening)) OpenSession();
  }
}

void ShardChannel::OpenSession() {
  Call<v1::OpenSessionResponse>(
      [this](grpc::ClientContext* context) {
        return parameter_->AsyncOpenSession(context, options_.session->OpenRequest(),
                                            &completions_.queue());
      },
      [this](const grpc::Status& status, const v1::OpenSessionResponse& response) {
        OnSession(status, response);
      });
}

void ShardChannel::OnSession(const grpc::Status& status, const v1::OpenSessionResponse& response) {
  if (!status.ok()) {
    const absl::Status error = Heard(status);
    if (!IsPermanent(error)) {
      TryLater(error);
      return;
    }
    options_.session->MarkLost(Named(error));
    GiveUp(Named(error));
    return;
  }
  const v1::ShardMap& map = response.shard_map();
  for (uint32_t p = 0; p < options_.map->partitions(); ++p) {
    if (options_.map->owner(p) != options_.shard) continue;
    const bool told = static_cast<int>(p) < map.owner_epochs_size();
    options_.session->SetOwnerEpoch(p, told ? map.owner_epochs(static_cast<int>(p)) : 0);
  }
  if (Advance(State::kOpening, State::kStarting)) StartStreams();
}

void ShardChannel::StartStreams() {
  MutexLock lock(mutex_);
  if (state_ != State::kStarting) return;
  streams_open_ = 0;
  const std::string service = "/hotrow.v1.ParameterService/";
  pull_stream_ = MessageStream::Start(channel_, service + "Pull", completions_.queue(), *this);
  push_stream_ = MessageStream::Start(channel_, service + "Push", completions_.queue(), *this);
}

RequestQueue& ShardChannel::QueueOf(const MessageStream& stream) {
  MutexLock lock(mutex_);
  return &stream == pull_stream_.get() ? pulls_ : pushes_;
}

void ShardChannel::OnOpen(MessageStream& stream) {
  bool both = false;
  {
    MutexLock lock(mutex_);
    both = ++streams_open_ == 2 && pull_stream_ != nullptr && push_stream_ != nullptr;
  }
  QueueOf(stream).Attach(stream.shared_from_this());
  if (both) Advance(State::kStarting, State::kUp);
}

void ShardChannel::OnMessage(MessageStream& stream, const grpc::ByteBuffer& message) {
  const absl::Status status = QueueOf(stream).OnMessage(message);
  MutexLock lock(mutex_);
  last_error_ = status;
  if (status.ok()) {
    attempts_ = 0;  // not before: a shard whose every reply is damaged is not asked in a hurry
  } else {
    break_cause_.Update(status);
    stream.Cancel();
  }
}

void ShardChannel::OnWritten(MessageStream& stream) { QueueOf(stream).OnWritten(stream); }

void ShardChannel::OnClosed(MessageStream& stream, const grpc::Status& status) {
  const absl::Status why =
      status.ok() ? wire::MakeError(wire::ErrorKind::kUnavailable, "the shard ended the stream")
                  : Heard(status);
  QueueOf(stream).Detach();
  bool last = false;
  absl::Status cause;
  {
    MutexLock lock(mutex_);
    break_cause_.Update(why);  // the first: it is why the other stream is cancelled
    (&stream == pull_stream_.get() ? pull_stream_ : push_stream_) = nullptr;
    if (pull_stream_ != nullptr) pull_stream_->Cancel();
    if (push_stream_ != nullptr) push_stream_->Cancel();
    last = pull_stream_ == nullptr && push_stream_ == nullptr;
    if (last) cause = std::exchange(break_cause_, absl::OkStatus());
    if (state_ != State::kOver) state_ = State::kStarting;
    changed_.NotifyAll();
  }
  if (last) TryLater(cause);
}

void ShardChannel::TryLater(const absl::Status& why) {
  pulls_.NoteTrouble(why);
  pushes_.NoteTrouble(why);
  MutexLock lock(mutex_);
  if (state_ == State::kOver) return;
  last_error_ = why;
  state_ = State::kWaiting;
  next_attempt_ = Now() + Backoff(++attempts_);
  options_.alarm->WakeBy(next_attempt_);
}

absl::Status ShardChannel::Named(const absl::Status& status) const {
  return NameShard(status, options_.shard, options_.address);
}

// A shard signs what it says with its number, and is named then by its address too. The words of a
// transport stay without a name.
absl::Status ShardChannel::Heard(const grpc::Status& status) const {
  wire::ErrorInfo error = wire::FromStatus(wire::FromGrpcStatus(status));
  if (error.shard >= 0) {
    error.shard = -1;
    NameShard(error, options_.shard, options_.address);
  } else if (error.message.empty() || error.message == "CANCELLED") {
    // All that gRPC says of a connection whose keepalive was not answered.
    error.message = "the connection was given up: no sign of life from the shard";
  }
  return wire::ToStatus(error);
}

}  // namespace hotrow::client
