// The same unary question to several shards at once.
//
// Thread safety: pure functions. Errors: one status per shard, naming it; an interrupted wait
// cancels the questions that are not answered yet.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/client_error.h"
#include "client/src/interruptible.h"
#include "client/src/shard_channel.h"
#include "client/src/unary_call.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

using Channels = std::span<const std::unique_ptr<ShardChannel>>;

// Calls that have not ended, so that they can be cancelled together.
template <typename Response>
class RunningCalls {
 public:
  explicit RunningCalls(size_t count) : calls_(count), running_(count) {}

  // Before the call may end.
  void Started(size_t i, UnaryCall<Response>* call) {
    MutexLock lock(mutex_);
    calls_[i] = call;
  }
  // In its `done`: the call is gone afterwards.
  void Ended(size_t i) {
    MutexLock lock(mutex_);
    calls_[i] = nullptr;
    if (--running_ == 0) ended_.NotifyAll();
  }
  // Each call ends by its own deadline.
  void WaitOrCancel() {
    MutexLock lock(mutex_);
    while (running_ > 0) {
      if (WaitUntil(ended_, mutex_, Never())) continue;
      for (UnaryCall<Response>* call : calls_) {
        if (call != nullptr) call->Cancel();
      }
      return;
    }
  }

 private:
  Mutex mutex_;
  CondVar ended_;
  std::vector<UnaryCall<Response>*> calls_ HOTROW_GUARDED_BY(mutex_);  // null once ended
  size_t running_ HOTROW_GUARDED_BY(mutex_);
};

// Asks `count` questions at once; `issue` starts number i: Reader(i, grpc::ClientContext*,
// grpc::CompletionQueue*). Returns when all are answered or the deadline has passed.
template <typename Response, typename Issue>
std::vector<absl::StatusOr<Response>> AskAll(size_t count, TimePoint deadline, Issue issue) {
  std::vector<absl::StatusOr<Response>> answers(count);
  RunningCalls<Response> running(count);
  {
    CompletionThread completions;  // its end waits for all answers
    for (size_t i = 0; i < count; ++i) {
      auto* const call = UnaryCall<Response>::Start(
          deadline,
          [&](grpc::ClientContext* context) { return issue(i, context, &completions.queue()); },
          [&answers, &running, i](const grpc::Status& status, const Response& response) {
            if (status.ok()) {
              answers[i] = response;
            } else {
              answers[i] = wire::FromGrpcStatus(status);
            }
            running.Ended(i);
          });
      running.Started(i, call);
      call->Await();
    }
    running.WaitOrCancel();
  }
  return answers;
}

// The same question to every shard: Reader(ShardChannel&, grpc::ClientContext*,
// grpc::CompletionQueue*).
template <typename Response, typename Issue>
std::vector<absl::StatusOr<Response>> AskShards(Channels channels, TimePoint deadline,
                                                Issue issue) {
  auto answers =
      AskAll<Response>(channels.size(), deadline,
                       [&](size_t i, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
                         return issue(*channels[i], context, queue);
                       });
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].ok()) continue;
    answers[i] = NameShard(answers[i].status(), channels[i]->shard(), channels[i]->address());
  }
  return answers;
}

// The first error by shard number.
template <typename Response>
absl::Status FirstError(const std::vector<absl::StatusOr<Response>>& answers) {
  for (const absl::StatusOr<Response>& answer : answers) {
    if (!answer.ok()) return answer.status();
  }
  return absl::OkStatus();
}

}  // namespace hotrow::client
