#include "server/rpc/stream_handlers.h"

#include <chrono>
#include <utility>

#include "proto/wire/batch_codec.h"
#include "proto/wire/status_codec.h"
#include "server/rpc/request_id.h"

namespace hotrow {
namespace {

Deadline DeadlineAfter(RpcMetrics::Time start, uint32_t deadline_ms) {
  if (deadline_ms == 0) return Deadline::max();
  return start + std::chrono::milliseconds(deadline_ms);
}

// One request on its way: counts it and sends its answer.
struct Pending {
  RpcMetrics* metrics;
  Method method;
  RpcMetrics::Time start;
  uint64_t received_bytes;
  StreamHandler::Reply reply;

  void Answer(const wire::ErrorInfo& error, grpc::ByteBuffer encoded) {
    if (error.kind == wire::ErrorKind::kOverloaded) metrics->CountOverload();
    metrics->End(method, start,
                 {static_cast<int>(wire::CodeOf(error.kind)), received_bytes, encoded.Length()});
    reply(std::move(encoded));
  }
};

}  // namespace

void PullHandler::Accept(const AcceptTarget& target, ByteStream* stream) {
  environment_->parameters.RequestPull(target.context, stream, target.queue, target.queue,
                                       target.tag);
}

void PullHandler::Handle(const grpc::ByteBuffer& message, Reply reply) {
  RpcMetrics* const metrics = environment_->metrics;
  Pending pending{metrics, Method::kPull, metrics->Begin(Method::kPull), message.Length(),
                  std::move(reply)};
  absl::StatusOr<wire::PullRequest> request = wire::DecodePullRequest(message);
  if (!request.ok()) {
    wire::PullResponse refusal{.request_id = PeekRequestId(message),
                               .error = wire::FromStatus(request.status())};
    pending.Answer(refusal.error, wire::Encode(refusal, {}));
    return;
  }
  const Deadline deadline = DeadlineAfter(pending.start, request->deadline_ms);
  environment_->shard->Pull(
      *std::move(request), deadline, [pending = std::move(pending)](PullReply answer) mutable {
        pending.Answer(answer.message.error,
                       wire::Encode(answer.message, std::move(answer.payload)));
      });
}

void PushHandler::Accept(const AcceptTarget& target, ByteStream* stream) {
  environment_->parameters.RequestPush(target.context, stream, target.queue, target.queue,
                                       target.tag);
}

void PushHandler::Handle(const grpc::ByteBuffer& message, Reply reply) {
  RpcMetrics* const metrics = environment_->metrics;
  Pending pending{metrics, Method::kPush, metrics->Begin(Method::kPush), message.Length(),
                  std::move(reply)};
  absl::StatusOr<wire::PushRequest> request = wire::DecodePushRequest(message);
  if (!request.ok()) {
    wire::PushResponse refusal{.request_id = PeekRequestId(message),
                               .error = wire::FromStatus(request.status())};
    pending.Answer(refusal.error, wire::Encode(refusal));
    return;
  }
  const Deadline deadline = DeadlineAfter(pending.start, request->deadline_ms);
  environment_->shard->Push(*std::move(request), deadline,
                            [pending = std::move(pending)](wire::PushResponse answer) mutable {
                              pending.Answer(answer.error, wire::Encode(answer));
                            });
}

}  // namespace hotrow
