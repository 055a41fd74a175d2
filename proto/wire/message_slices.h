// Messages as slices: how a header and a payload become one gRPC message, and how a received one is
// opened.
//
// Thread safety: pure functions. Ownership: slices are shared by reference count, never copied.

#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <vector>

#include "absl/status/statusor.h"
#include "proto/wire/proto_writer.h"

namespace hotrow::wire {

// Field number of the payload in every data message: one byte of tag, above all header fields.
inline constexpr uint32_t kPayloadField = 15;

// The header, then the payload field (left out when empty) made of `payload`.
grpc::ByteBuffer JoinMessage(ProtoWriter header, std::vector<grpc::Slice> payload);

// The slices of a received message. InvalidArgument when it exceeds kMaxMessageBytes or is no
// message.
absl::StatusOr<std::vector<grpc::Slice>> OpenMessage(const grpc::ByteBuffer& buffer);

}  // namespace hotrow::wire
