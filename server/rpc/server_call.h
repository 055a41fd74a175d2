// ServerCall: the life that every kind of RPC shares: accepted on an event loop, pumped there,
// closed by the client, by a drain or by the end of the server. CallRegistry: all accepted calls.
//
// Thread safety: EndWith(), WakeUp(), Close() and the registry, from any thread; everything else on
// the loop of the call's queue. Operations start on that loop only, except the wake-up, which is
// armed under the lock and never after Close(): so the queue can be shut down without a race.
// Ownership: a call is kept alive by its outstanding operations and by the replies it waits for. No
// call code runs under a gRPC frame.

#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/runtime/completion_tag.h"

namespace hotrow {

class ServerCall;

// Who a call comes from, for the log.
struct CallOrigin {
  std::string peer;      // as gRPC names it: ipv4:10.0.0.7:41314
  std::string trace_id;  // of its traceparent, may be empty
};

class CallRegistry {
 public:
  // False once closed: the call must not start anything.
  bool Add(const std::shared_ptr<ServerCall>& call);
  void Remove(const ServerCall* call);
  // Ends every call, and those that come later, with `status`. Returns when none is left, or at the
  // deadline.
  void EndAll(const grpc::Status& status, std::chrono::steady_clock::time_point deadline);
  // Closes every call and refuses new ones from now on.
  void Close();

 private:
  // Calls that are accepted and not destroyed.
  std::vector<std::shared_ptr<ServerCall>> Calls();

  Mutex mutex_;
  CondVar removed_;
  std::optional<grpc::Status> ending_ HOTROW_GUARDED_BY(mutex_);
  std::unordered_map<const ServerCall*, std::weak_ptr<ServerCall>> calls_ HOTROW_GUARDED_BY(mutex_);
  bool closed_ HOTROW_GUARDED_BY(mutex_) = false;
};

class ServerCall : public std::enable_shared_from_this<ServerCall> {
 public:
  virtual ~ServerCall();
  ServerCall(const ServerCall&) = delete;
  ServerCall& operator=(const ServerCall&) = delete;

  // Waits for a client. Call once, when no Stop() of the loops can have begun, or on the loop.
  void Start();
  // Ends the call with `status` after what was accepted has been answered.
  void EndWith(grpc::Status status);
  // Makes the loop look for what is due.
  void WakeUp();
  // Starts nothing from now on.
  void Close();

 protected:
  ServerCall(std::shared_ptr<CallRegistry> registry, grpc::ServerCompletionQueue* queue);

  // Asks gRPC for the next client of this method.
  virtual void Accept(void* tag) = 0;
  // A fresh call of the same method and queue, to be started.
  virtual std::shared_ptr<ServerCall> Another() = 0;
  // Starts what is due. Called on the loop after each event; never after Close().
  virtual void Pump() = 0;
  // Cancels alarms of its own: the queue is about to be shut down and would wait for them.
  virtual void CancelAlarms() HOTROW_REQUIRES(mutex_) {}

  // Makes the loop call Pump() soon.
  void Wake() HOTROW_REQUIRES(mutex_);
  // Pump() unless closed.
  void Advance();
  // Constant from the first Pump() on.
  const CallOrigin& origin() const { return origin_; }
  // The client is gone, or has been answered: replies are dropped.
  bool gone() const HOTROW_REQUIRES(mutex_) { return broken_ || closed_; }

  grpc::ServerCompletionQueue* const queue_;
  const std::shared_ptr<CallRegistry> registry_;
  grpc::ServerContext context_;
  Mutex mutex_;
  bool broken_ HOTROW_GUARDED_BY(mutex_) = false;              // by the client or the network
  std::optional<grpc::Status> end_ HOTROW_GUARDED_BY(mutex_);  // wished by the server

 private:
  void OnAccepted(bool ok);
  void OnDone(bool ok);
  void OnWake(bool ok);

  CallOrigin origin_;
  bool closed_ HOTROW_GUARDED_BY(mutex_) = false;
  bool wake_pending_ HOTROW_GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_;
  MemberTag<ServerCall> accept_tag_{this, &ServerCall::OnAccepted};
  MemberTag<ServerCall> done_tag_{this, &ServerCall::OnDone};
  MemberTag<ServerCall> wake_tag_{this, &ServerCall::OnWake};
};

}  // namespace hotrow
