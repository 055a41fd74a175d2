#include "tests/fault/message_proxy.h"

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <thread>

#include "client/src/completion_thread.h"
#include "client/src/shard_channel.h"
#include "kernels/base/mutex.h"

namespace hotrow::testing {
namespace {

using Clock = std::chrono::steady_clock;
using client::CompletionTag;

bool IsPush(const std::string& method) { return method.ends_with("/Push"); }

}  // namespace

// The server that clients see and the one thread on which all relayed calls run.
class MessageProxy::Loop {
 public:
  Loop(const std::string& target, const FaultRates& push_rates, uint64_t seed);
  ~Loop();

  void Run();
  void Accept();
  void Ended() HOTROW_EXCLUDES(mutex_);  // a relay
  bool Settle() HOTROW_EXCLUDES(mutex_);

  const FaultRates rates;
  std::mt19937_64 random;  // on the thread
  FaultCounts requests;
  FaultCounts replies;
  FaultCounts untouched;  // of other calls than pushes
  std::atomic<int64_t> cuts = 0;
  int port = 0;
  grpc::AsyncGenericService service;
  grpc::GenericStub stub;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;

 private:
  std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  CondVar changed_;
  int64_t relays_ HOTROW_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

// One relayed call. It lives until no operation of it is outstanding.
class MessageProxy::Relay {
 public:
  explicit Relay(Loop& loop) : loop_(loop) {
    loop_.service.RequestCall(&context_, &client_, loop_.queue.get(), loop_.queue.get(),
                              Begin(accept_tag_));
  }

 private:
  using Pipe = FaultyPipe<grpc::ByteBuffer>;

  struct Tag final : CompletionTag {
    Tag(Relay& owner, void (Relay::*handler)(bool)) : relay(owner), method(handler) {}
    void Done(bool ok) override {
      (relay.*method)(ok);
      relay.End();
    }
    Relay& relay;
    void (Relay::*method)(bool);
  };

  void* Begin(Tag& tag) {
    ++operations_;
    return tag.Starting();
  }
  void End() {
    if (--operations_ > 0) return;
    Loop& loop = loop_;
    delete this;
    loop.Ended();
  }

  void OnAccepted(bool ok);
  void OnStarted(bool ok);
  void OnRequest(bool ok);
  void OnRequestWritten(bool ok);
  void OnRequestsClosed(bool) { Pump(); }
  void OnReply(bool ok);
  void OnReplyWritten(bool ok);
  void OnServerFinished(bool ok);
  void OnClientFinished(bool) {}
  void OnAlarm(bool ok);

  void ReadRequest() { client_.Read(&request_, Begin(request_tag_)); }
  void ReadReply() { server_->Read(&reply_, Begin(reply_tag_)); }
  void Put(Pipe& pipe, const grpc::ByteBuffer& message);
  // Starts what is due.
  void Pump();
  void PumpRequests();
  void PumpReplies();
  void SetAlarm();
  void Cut();
  void FinishClient();

  Loop& loop_;
  int operations_ = 0;

  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter client_{&context_};
  grpc::ClientContext server_context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> server_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;

  std::optional<Pipe> requests_;  // once accepted
  std::optional<Pipe> replies_;
  bool started_ = false;  // requests may be written
  bool writing_request_ = false;
  bool requests_ended_ = false;   // by the client
  bool requests_closed_ = false;  // said to the server
  bool writing_reply_ = false;
  bool replies_ended_ = false;
  bool server_finishing_ = false;
  bool server_finished_ = false;
  bool client_finished_ = false;
  bool cut_ = false;
  Clock::time_point cut_at_ = Clock::time_point::max();
  Clock::time_point release_at_ = Clock::time_point::max();
  bool alarm_set_ = false;
  grpc::Alarm alarm_;

  Tag accept_tag_{*this, &Relay::OnAccepted};
  Tag start_tag_{*this, &Relay::OnStarted};
  Tag request_tag_{*this, &Relay::OnRequest};
  Tag request_written_tag_{*this, &Relay::OnRequestWritten};
  Tag requests_closed_tag_{*this, &Relay::OnRequestsClosed};
  Tag reply_tag_{*this, &Relay::OnReply};
  Tag reply_written_tag_{*this, &Relay::OnReplyWritten};
  Tag server_finished_tag_{*this, &Relay::OnServerFinished};
  Tag client_finished_tag_{*this, &Relay::OnClientFinished};
  Tag alarm_tag_{*this, &Relay::OnAlarm};
};

void MessageProxy::Relay::OnAccepted(bool ok) {
  if (!ok) return;
  loop_.Accept();
  const bool push = IsPush(context_.method());
  const FaultRates rates = push ? loop_.rates : FaultRates{};
  requests_.emplace(rates, loop_.random, push ? loop_.requests : loop_.untouched);
  replies_.emplace(rates, loop_.random, push ? loop_.replies : loop_.untouched);
  server_context_.set_deadline(context_.deadline());
  server_ = loop_.stub.PrepareCall(&server_context_, context_.method(), loop_.queue.get());
  server_->StartCall(Begin(start_tag_));
  ReadRequest();
}

void MessageProxy::Relay::OnStarted(bool ok) {
  started_ = ok;
  if (ok) {
    ReadReply();
  } else {
    replies_ended_ = true;
  }
  Pump();
}

void MessageProxy::Relay::Put(Pipe& pipe, const grpc::ByteBuffer& message) {
  pipe.Put(message);
  const auto now = Clock::now();
  if (pipe.lost() && cut_at_ == Clock::time_point::max()) {
    const int64_t most = kLongestLife.count();
    cut_at_ = now + std::chrono::milliseconds(loop_.random() % most + 1);
  }
  if (pipe.holding() && release_at_ == Clock::time_point::max()) release_at_ = now + kMostHeld;
  SetAlarm();
}

void MessageProxy::Relay::OnRequest(bool ok) {
  if (ok) {
    Put(*requests_, request_);
    ReadRequest();
  } else {
    requests_ended_ = true;
  }
  Pump();
}

void MessageProxy::Relay::OnReply(bool ok) {
  if (ok) {
    Put(*replies_, reply_);
    ReadReply();
  } else {
    replies_ended_ = true;
  }
  Pump();
}

void MessageProxy::Relay::OnRequestWritten(bool ok) {
  writing_request_ = false;
  if (!ok) started_ = false;  // the server has ended it: replies say how
  Pump();
}

void MessageProxy::Relay::OnReplyWritten(bool ok) {
  writing_reply_ = false;
  if (!ok) Cut();  // the client has gone
  Pump();
}

void MessageProxy::Relay::OnServerFinished(bool) {
  server_finished_ = true;
  Pump();
}

void MessageProxy::Relay::OnAlarm(bool) {
  alarm_set_ = false;
  const auto now = Clock::now();
  if (now >= cut_at_ && !cut_) {
    ++loop_.cuts;
    Cut();
  }
  if (now >= release_at_) {
    release_at_ = Clock::time_point::max();
    requests_->ReleaseHeld();
    replies_->ReleaseHeld();
  }
  Pump();
  SetAlarm();
}

void MessageProxy::Relay::SetAlarm() {
  const auto due = std::min(cut_ ? Clock::time_point::max() : cut_at_, release_at_);
  if (alarm_set_ || due == Clock::time_point::max() || client_finished_) return;
  alarm_set_ = true;
  alarm_.Set(loop_.queue.get(), std::chrono::system_clock::now() + (due - Clock::now()),
             Begin(alarm_tag_));
}

// Both sides learn of it as of a connection that broke: what is under way is lost.
void MessageProxy::Relay::Cut() {
  if (cut_) return;
  cut_ = true;
  server_context_.TryCancel();
  if (loop_.random() % 2 == 0) context_.TryCancel();
}

void MessageProxy::Relay::PumpRequests() {
  if (!started_ || writing_request_ || cut_ || requests_closed_) return;
  if (const std::optional<grpc::ByteBuffer> message = requests_->Take()) {
    writing_request_ = true;
    server_->Write(*message, Begin(request_written_tag_));
  } else if (requests_ended_ && !requests_->holding()) {
    requests_closed_ = true;
    server_->WritesDone(Begin(requests_closed_tag_));
  }
}

void MessageProxy::Relay::PumpReplies() {
  if (writing_reply_ || client_finished_) return;
  const std::optional<grpc::ByteBuffer> message = cut_ ? std::nullopt : replies_->Take();
  if (message.has_value()) {
    writing_reply_ = true;
    client_.Write(*message, Begin(reply_written_tag_));
  } else if (server_finished_ && (cut_ || !replies_->holding())) {
    FinishClient();
  }
}

void MessageProxy::Relay::FinishClient() {
  client_finished_ = true;
  const grpc::Status cut(grpc::StatusCode::UNAVAILABLE, "the connection was cut");
  client_.Finish(cut_ ? cut : status_, Begin(client_finished_tag_));
  alarm_.Cancel();
}

void MessageProxy::Relay::Pump() {
  PumpRequests();
  if (replies_ended_ && !writing_request_ && !server_finishing_) {
    server_finishing_ = true;
    server_->Finish(&status_, Begin(server_finished_tag_));
  }
  PumpReplies();
}

MessageProxy::Loop::Loop(const std::string& target, const FaultRates& push_rates, uint64_t seed)
    : rates(push_rates), random(seed), stub(client::MakeChannel(target, std::chrono::seconds(10))) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterAsyncGenericService(&service);
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  queue = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  Accept();
  thread_ = std::thread([this] { Run(); });
}

MessageProxy::Loop::~Loop() {
  server_->Shutdown(std::chrono::system_clock::now());
  {
    MutexLock lock(mutex_);
    while (relays_ > 0) changed_.Wait(mutex_);
  }
  queue->Shutdown();
  thread_.join();
}

void MessageProxy::Loop::Accept() {
  {
    MutexLock lock(mutex_);
    ++relays_;
  }
  new Relay(*this);  // deletes itself
}

void MessageProxy::Loop::Ended() {
  MutexLock lock(mutex_);
  --relays_;
  changed_.NotifyAll();
}

bool MessageProxy::Loop::Settle() {
  const auto limit = Clock::now() + std::chrono::minutes(1);
  MutexLock lock(mutex_);
  while (relays_ > 1) {  // one waits for the next call
    if (!changed_.WaitUntil(mutex_, limit) && relays_ > 1) return false;
  }
  return true;
}

void MessageProxy::Loop::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    CompletionTag* const done = static_cast<CompletionTag*>(tag);
    done->Arrived();
    done->Done(ok);
  }
}

MessageProxy::MessageProxy(const std::string& target, const FaultRates& rates, uint64_t seed)
    : loop_(std::make_unique<Loop>(target, rates, seed)) {}

MessageProxy::~MessageProxy() = default;

bool MessageProxy::Settle() { return loop_->Settle(); }
std::string MessageProxy::address() const { return "127.0.0.1:" + std::to_string(loop_->port); }
const FaultCounts& MessageProxy::requests() const { return loop_->requests; }
const FaultCounts& MessageProxy::replies() const { return loop_->replies; }
int64_t MessageProxy::cuts() const { return loop_->cuts; }

}  // namespace hotrow::testing
