// The same unary question to several shards at once.
//
// Thread safety: pure functions. Errors: one status per shard, naming it.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/client_error.h"
#include "client/src/shard_channel.h"
#include "client/src/unary_call.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

using Channels = std::span<const std::unique_ptr<ShardChannel>>;

// `issue` starts the call: Reader(ShardChannel&, grpc::ClientContext*, grpc::CompletionQueue*).
// Returns when all have answered or the deadline has passed.
template <typename Response, typename Issue>
std::vector<absl::StatusOr<Response>> AskShards(Channels channels, TimePoint deadline,
                                                Issue issue) {
  std::vector<absl::StatusOr<Response>> answers(channels.size());
  {
    CompletionThread completions;  // its end waits for all answers
    for (size_t i = 0; i < channels.size(); ++i) {
      ShardChannel& channel = *channels[i];
      UnaryCall<Response>::Start(
          deadline,
          [&](grpc::ClientContext* context) {
            return issue(channel, context, &completions.queue());
          },
          [&answers, &channel, i](const grpc::Status& status, const Response& response) {
            if (status.ok()) {
              answers[i] = response;
            } else {
              answers[i] =
                  NameShard(wire::FromGrpcStatus(status), channel.shard(), channel.address());
            }
          })
          ->Await();
    }
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
