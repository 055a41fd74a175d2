// The connection to one shard: a gRPC channel of its own, one stream for pulls and one for pushes,
// made again when it breaks.
//
//   kWaiting --> kAsking (who are you?) --> kOpening (session) --> kStarting (streams) --> kUp
//      ^------------------------------ any break, after a delay --------------------------'
//   kOver: the shard is not the one that this client knew, or Stop() was called
//
// Thread safety: every method, from any thread. Ownership: options.alarm and options.session must
// outlive Stop(). Errors: a shard that restarted has lost tables and sessions: everything on it
// fails with SessionLost from then on, so that nobody trains on against initial values.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <functional>
#include <memory>
#include <string>

#include "client/src/alarm.h"
#include "client/src/request_queue.h"
#include "client/src/session.h"
#include "hotrow/v1/admin_service.grpc.pb.h"
#include "hotrow/v1/parameter_service.grpc.pb.h"
#include "proto/wire/shard_map.h"

namespace hotrow::client {

// How the client's channels differ from gRPC's defaults.
grpc::ChannelArguments ChannelArgumentsFor(milliseconds keepalive);
// A channel with a connection of its own.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target, milliseconds keepalive);

class ShardChannel final : public MessageStream::Listener, public Timed {
 public:
  struct Options {
    uint32_t shard = 0;
    std::string address;  // as the shard map says: for messages
    std::string target;   // what is dialled
    std::shared_ptr<const wire::ShardMap> map;
    std::string cluster_id;  // of who gave the map, may be empty
    milliseconds keepalive{10000};
    milliseconds recovery_timeout{120000};
    Alarm* alarm = nullptr;
    Session* session = nullptr;  // null: pulls only
  };
  explicit ShardChannel(Options options);
  ~ShardChannel() override { Stop(); }

  // Begins to connect.
  void Start();
  // When the shard is not up by the deadline: what it said itself, as Overloaded when it has no
  // place for a session, else Unavailable. What made the channel give up for ever, at once.
  absl::Status WaitUntilUp(TimePoint deadline);
  // What is wrong with the connection, or was, until the next good reply.
  absl::Status trouble();
  // Ends the connection; whatever is not settled fails with `Closed`. Returns when all is quiet.
  void Stop();

  RequestQueue& pulls() { return pulls_; }
  RequestQueue& pushes() { return pushes_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1::AdminService::Stub& admin() { return *admin_; }
  v1::ParameterService::Stub& parameter() { return *parameter_; }
  uint32_t shard() const { return options_.shard; }
  const std::string& address() const { return options_.address; }

  // Ends the connection for good with `status`, which all calls get.
  void GiveUp(const absl::Status& status);

  TimePoint OnTime(TimePoint now) override;
  void OnOpen(MessageStream& stream) override;
  void OnMessage(MessageStream& stream, const grpc::ByteBuffer& message) override;
  void OnWritten(MessageStream& stream) override;
  void OnClosed(MessageStream& stream, const grpc::Status& status) override;

 private:
  enum class State : uint8_t { kWaiting, kAsking, kOpening, kStarting, kUp, kOver };

  void Ask();
  void OnAnswer(const grpc::Status& status, const v1::GetShardMapResponse& response);
  absl::Status CheckIdentity(const v1::GetShardMapResponse& response);
  absl::Status CheckCluster(const v1::GetShardMapResponse& response) const;
  void OpenSession();
  void OnSession(const grpc::Status& status, const v1::OpenSessionResponse& response);
  void StartStreams();
  void TryLater(const absl::Status& why);
  bool Advance(State from, State to) HOTROW_EXCLUDES(mutex_);
  // Runs `issue` as the one unary call in flight unless all is over.
  template <typename Response, typename Issue, typename Done>
  void Call(Issue issue, Done done);
  RequestQueue& QueueOf(const MessageStream& stream) HOTROW_EXCLUDES(mutex_);
  absl::Status Named(const absl::Status& status) const;
  absl::Status Heard(const grpc::Status& status) const;

  const Options options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::unique_ptr<v1::ParameterService::Stub> parameter_;
  RequestQueue pulls_;
  RequestQueue pushes_;

  Mutex mutex_;
  CondVar changed_;
  State state_ HOTROW_GUARDED_BY(mutex_) = State::kWaiting;
  TimePoint next_attempt_ HOTROW_GUARDED_BY(mutex_) = Never();
  int attempts_ HOTROW_GUARDED_BY(mutex_) = 0;
  uint64_t server_start_id_ HOTROW_GUARDED_BY(mutex_) = 0;  // 0: never connected
  // OK after a good reply; names the shard when that said so itself.
  absl::Status last_error_ HOTROW_GUARDED_BY(mutex_);
  absl::Status break_cause_ HOTROW_GUARDED_BY(mutex_);  // why the streams end, while they do
  absl::Status over_ HOTROW_GUARDED_BY(mutex_);
  std::function<void()> cancel_call_ HOTROW_GUARDED_BY(mutex_);
  std::shared_ptr<MessageStream> pull_stream_ HOTROW_GUARDED_BY(mutex_);
  std::shared_ptr<MessageStream> push_stream_ HOTROW_GUARDED_BY(mutex_);
  int streams_open_ HOTROW_GUARDED_BY(mutex_) = 0;

  CompletionThread completions_;
};

}  // namespace hotrow::client
