// One asynchronous unary call on a completion queue.
//
// Thread safety: `done` runs on the completion thread. Ownership: the call owns itself from Start
// until `done` has returned.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <functional>
#include <memory>
#include <utility>

#include "client/src/completion_thread.h"
#include "client/src/time_point.h"

namespace hotrow::client {

// gRPC's deadlines are points of the wall clock: computed at the last moment from a monotonic one.
inline std::chrono::system_clock::time_point WallClock(TimePoint deadline) {
  const milliseconds left = std::min(TimeLeft(deadline), milliseconds(std::chrono::hours(24)));
  return std::chrono::system_clock::now() + left;
}

inline void SetDeadline(grpc::ClientContext& context, TimePoint deadline) {
  context.set_deadline(WallClock(deadline));
}

template <typename Response>
class UnaryCall final : public CompletionTag {
 public:
  using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>;

  template <typename Issue>  // Reader(grpc::ClientContext*)
  static UnaryCall* Start(TimePoint deadline, Issue issue,
                          std::function<void(const grpc::Status&, const Response&)> done) {
    auto* call = new UnaryCall(std::move(done));
    SetDeadline(call->context_, deadline);
    call->reader_ = issue(&call->context_);
    return call;
  }
  // Separate from Start so that the caller can note the call before it may end.
  void Await() { reader_->Finish(&response_, &status_, Starting()); }
  void Cancel() { context_.TryCancel(); }

  void Done(bool) override {
    const std::unique_ptr<UnaryCall> self(this);
    done_(status_, response_);
  }

 private:
  explicit UnaryCall(std::function<void(const grpc::Status&, const Response&)> done)
      : done_(std::move(done)) {}

  grpc::ClientContext context_;
  Response response_;
  grpc::Status status_;
  Reader reader_;
  std::function<void(const grpc::Status&, const Response&)> done_;
};

}  // namespace hotrow::client
