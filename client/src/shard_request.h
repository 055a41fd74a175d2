// One message to a shard that must be answered, whatever happens to the connection.
//
// Thread safety: the queue that owns a request calls one method at a time. Ownership: shared by the
// queue (until it is settled) and by whoever waits for it.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/time_point.h"
#include "proto/wire/batch_codec.h"

namespace hotrow::client {

using Reply = std::variant<wire::PullResponse, wire::PushResponse>;

// What is left of a request must be sent again.
struct Again {
  milliseconds after{};  // not before that time has passed
  wire::ErrorInfo why;   // what the shard said
};

class ShardRequest {
 public:
  explicit ShardRequest(TimePoint deadline) : ShardRequest(Patience{deadline}) {}
  explicit ShardRequest(Patience patience) : patience_(patience) {}
  virtual ~ShardRequest() = default;

  // The message to send, now or again.
  virtual grpc::ByteBuffer Encode(uint64_t request_id) = 0;
  // Takes the reply to attempt number `attempts`. Nothing: settled.
  virtual std::optional<Again> OnReply(Reply reply, int attempts) = 0;
  // Settles the request without a reply.
  virtual void OnFailure(const absl::Status& status) = 0;

  // When the queue gives up; Never() for what must not be given up.
  TimePoint deadline() const { return patience_.deadline; }
  // While the shard is away deadline() does not count, and moves when it is back. Called under the
  // lock of the queue.
  void ShardIsAway(TimePoint now) { patience_.Away(now); }
  bool waits_out_outages() const { return patience_.waits_out_outages(); }

 private:
  Patience patience_;
};

}  // namespace hotrow::client
