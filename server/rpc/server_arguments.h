// Arguments of the gRPC server: limits against hostile peers, and sizes that suit megabyte
// messages.
//
// Thread safety: a pure function of its arguments.

#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>

namespace hotrow {

// `memory_bytes`: what gRPC may hold for messages and connections, all clients together.
void ApplyServerArguments(int64_t memory_bytes, grpc::ServerBuilder& builder);

}  // namespace hotrow
