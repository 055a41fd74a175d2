// Handlers of the two data streams: decode a request, hand it to the shard, encode its reply.
//
// Thread safety: every method, from any thread. Ownership: a handler outlives its calls; what a
// reply needs is held by the reply. Errors: a message that cannot be decoded is answered with its
// request_id and the reason, and the stream lives on.

#pragma once

#include "server/rpc/services.h"
#include "server/rpc/stream_call.h"

namespace hotrow {

class PullHandler final : public StreamHandler {
 public:
  explicit PullHandler(CallEnvironment* environment) : environment_(environment) {}
  void Accept(const AcceptTarget& target, ByteStream* stream) override;
  void Handle(const grpc::ByteBuffer& message, const CallOrigin& origin, Reply reply) override;
  void CountCut() override { environment_->metrics->CountCutStream(); }

 private:
  CallEnvironment* const environment_;
};

class PushHandler final : public StreamHandler {
 public:
  explicit PushHandler(CallEnvironment* environment) : environment_(environment) {}
  void Accept(const AcceptTarget& target, ByteStream* stream) override;
  void Handle(const grpc::ByteBuffer& message, const CallOrigin& origin, Reply reply) override;
  void CountCut() override { environment_->metrics->CountCutStream(); }

 private:
  CallEnvironment* const environment_;
};

}  // namespace hotrow
