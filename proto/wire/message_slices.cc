#include "proto/wire/message_slices.h"

#include <string>
#include <utility>

#include "proto/wire/batch_codec.h"

namespace hotrow::wire {
namespace {

constexpr size_t kUsualSliceBytes = 8 << 10;  // gRPC's TCP reads; only sizes the first allocation

}  // namespace

grpc::ByteBuffer JoinMessage(ProtoWriter header, std::vector<grpc::Slice> payload) {
  uint64_t payload_bytes = 0;
  for (const grpc::Slice& slice : payload) payload_bytes += slice.size();
  if (payload_bytes > 0) header.BytesHeader(kPayloadField, payload_bytes);
  payload.insert(payload.begin(), std::move(header).Release());
  return grpc::ByteBuffer(payload.data(), payload.size());
}

absl::StatusOr<std::vector<grpc::Slice>> OpenMessage(const grpc::ByteBuffer& buffer) {
  if (!buffer.Valid()) return absl::InvalidArgumentError("no message was received");
  const size_t size = buffer.Length();
  if (size > kMaxMessageBytes) {
    return absl::InvalidArgumentError("message of " + std::to_string(size) +
                                      " bytes exceeds the limit of " +
                                      std::to_string(kMaxMessageBytes));
  }
  std::vector<grpc::Slice> slices;
  slices.reserve(size / kUsualSliceBytes + 4);
  if (!buffer.Dump(&slices).ok()) return absl::InvalidArgumentError("the message is unreadable");
  return slices;
}

}  // namespace hotrow::wire
