// Reads the request_id of a data message that could not be decoded, so that even a malformed
// request is answered by name.
//
// Thread safety: a pure function.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

namespace hotrow {

// Field 1 as a varint, when it can be found at the start of `message`; else 0.
uint64_t PeekRequestId(const grpc::ByteBuffer& message);

}  // namespace hotrow
