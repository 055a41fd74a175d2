#include "server/rpc/stream_handlers.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/key.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/status_codec.h"
#include "server/rpc/request_id.h"

namespace hotrow {
namespace {

Deadline DeadlineAfter(RpcMetrics::Time start, uint32_t deadline_ms) {
  if (deadline_ms == 0) return Deadline::max();
  return start + std::chrono::milliseconds(deadline_ms);
}

StageTimes StagesOf(RpcMetrics::Time start, RpcMetrics::Time decoded, const RequestTimes& times,
                    RpcMetrics::Time answered) {
  StageTimes stages;
  const auto set = [&stages](Stage stage, std::chrono::nanoseconds time) {
    stages[static_cast<size_t>(stage)] = time;
  };
  set(Stage::kDecode, decoded - start);
  set(Stage::kRoute, times.shared_out - decoded);
  set(Stage::kQueue, times.taken_up - times.shared_out);
  set(Stage::kHost, times.worked - times.taken_up);
  set(Stage::kEncode, answered - times.worked);
  return stages;
}

// None of a request that was refused before a strand took it up.
std::vector<NamedStage> Named(const std::optional<StageTimes>& stages) {
  std::vector<NamedStage> named;
  for (size_t i = 0; stages.has_value() && i < kStageCount; ++i) {
    named.emplace_back(NameOf(static_cast<Stage>(i)), (*stages)[i]);
  }
  return named;
}

uint64_t KeysOf(const wire::PullRequest& request) { return request.keys.size() / sizeof(Key); }

uint64_t KeysOf(const wire::PushRequest& request) {
  uint64_t keys = 0;
  for (const wire::SubPush& sub_push : request.sub_pushes) {
    for (const wire::SubPushTable& table : sub_push.tables) keys += table.key_count;
  }
  return keys;
}

bool Overloaded(const wire::ErrorInfo& error) { return error.kind == wire::ErrorKind::kOverloaded; }

bool RefusedForOverload(const wire::PullResponse& response) { return Overloaded(response.error); }

// Also one whose sub-pushes were refused, all or some.
bool RefusedForOverload(const wire::PushResponse& response) {
  return Overloaded(response.error) ||
         std::any_of(response.results.begin(), response.results.end(),
                     [](const wire::SubPushResult& result) { return Overloaded(result.error); });
}

// One request on its way: counts it and sends its answer.
struct Pending {
  RpcMetrics* metrics;
  Method method;
  RpcMetrics::Time start;
  uint64_t received_bytes;
  const CallOrigin* origin;  // kept by `reply`
  StreamHandler::Reply reply;
  RpcMetrics::Time decoded{};
  uint64_t keys = 0;

  template <typename Request>
  void Understood(const Request& request) {
    decoded = std::chrono::steady_clock::now();
    keys = KeysOf(request);
    metrics->CountKeys(method, keys);
  }

  template <typename Message>
  void Answer(const Message& message, const RequestTimes& times, grpc::ByteBuffer encoded) {
    if (RefusedForOverload(message)) metrics->CountOverload();
    const int code = static_cast<int>(wire::CodeOf(message.error.kind));
    const uint64_t sent_bytes = encoded.Length();
    const auto taken = metrics->End(method, start, {code, received_bytes, sent_bytes});
    std::optional<StageTimes> stages;
    if (times.complete()) {
      stages = StagesOf(start, decoded, times, start + taken);
      metrics->CountStages(method, *stages);
    }
    reply(std::move(encoded));  // and then the log, which nobody waits for
    if (!metrics->slow_log().IsSlow(taken)) return;
    metrics->CountSlow({.answered = std::chrono::system_clock::now(),
                        .method = method,
                        .request_id = message.request_id,
                        .code = NameOfCode(static_cast<size_t>(code)),
                        .keys = keys,
                        .received_bytes = received_bytes,
                        .sent_bytes = sent_bytes,
                        .peer = origin->peer,
                        .trace_id = origin->trace_id,
                        .duration = taken,
                        .stages = Named(stages)});
  }
};

}  // namespace

void PullHandler::Accept(const AcceptTarget& target, ByteStream* stream) {
  environment_->parameters.RequestPull(target.context, stream, target.queue, target.queue,
                                       target.tag);
}

void PullHandler::Handle(const grpc::ByteBuffer& message, const CallOrigin& origin, Reply reply) {
  RpcMetrics* const metrics = environment_->metrics;
  Pending pending{metrics,          Method::kPull, metrics->Begin(Method::kPull),
                  message.Length(), &origin,       std::move(reply)};
  absl::StatusOr<wire::PullRequest> request = wire::DecodePullRequest(message);
  if (!request.ok()) {
    wire::PullResponse refusal{.request_id = PeekRequestId(message),
                               .error = wire::FromStatus(request.status())};
    pending.Answer(refusal, {}, wire::Encode(refusal, {}));
    return;
  }
  pending.Understood(*request);
  const Deadline deadline = DeadlineAfter(pending.start, request->deadline_ms);
  environment_->shard->Pull(
      *std::move(request), deadline, [pending = std::move(pending)](PullReply answer) mutable {
        pending.Answer(answer.message, answer.times,
                       wire::Encode(answer.message, std::move(answer.payload)));
      });
}

void PushHandler::Accept(const AcceptTarget& target, ByteStream* stream) {
  environment_->parameters.RequestPush(target.context, stream, target.queue, target.queue,
                                       target.tag);
}

void PushHandler::Handle(const grpc::ByteBuffer& message, const CallOrigin& origin, Reply reply) {
  RpcMetrics* const metrics = environment_->metrics;
  Pending pending{metrics,          Method::kPush, metrics->Begin(Method::kPush),
                  message.Length(), &origin,       std::move(reply)};
  absl::StatusOr<wire::PushRequest> request = wire::DecodePushRequest(message);
  if (!request.ok()) {
    wire::PushResponse refusal{.request_id = PeekRequestId(message),
                               .error = wire::FromStatus(request.status())};
    pending.Answer(refusal, {}, wire::Encode(refusal));
    return;
  }
  pending.Understood(*request);
  const Deadline deadline = DeadlineAfter(pending.start, request->deadline_ms);
  environment_->shard->Push(
      *std::move(request), deadline, [pending = std::move(pending)](PushReply answer) mutable {
        pending.Answer(answer.message, answer.times, wire::Encode(answer.message));
      });
}

}  // namespace hotrow
