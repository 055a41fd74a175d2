// Encoding of Scan's reply.

#include <utility>

#include "proto/wire/batch_codec.h"
#include "proto/wire/message_slices.h"
#include "proto/wire/proto_reader.h"
#include "proto/wire/proto_writer.h"

namespace hotrow::wire {
namespace {

constexpr size_t kHeaderBytes = 64;

PayloadRange ReadScanResponse(ProtoReader& reader, ScanResponse* message) {
  PayloadRange rows;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("row_count", &message->row_count);
        break;
      case 2:
        reader.Read("dim", &message->dim);
        break;
      case 3:
        reader.Read("state_columns", &message->state_columns);
        break;
      case 4:
        reader.ReadFixed("payload_hash", &message->payload_hash);
        break;
      case kPayloadField:
        reader.ReadPayload("rows", &rows);
        break;
      default:
        reader.SkipField();
    }
  }
  if (message->dim > kMaxDim) reader.Fail("dim", "exceeds the limit");
  if (message->state_columns > kMaxStateColumns) {
    reader.Fail("state_columns", "exceeds the limit");
  }
  return rows;
}

uint64_t PayloadBytes(const ScanResponse& message) {
  const uint64_t columns = uint64_t{message.dim} + message.state_columns;
  return uint64_t{message.row_count} * (sizeof(Key) + columns * sizeof(float));  // < 2^53
}

}  // namespace

grpc::ByteBuffer Encode(const ScanResponse& message, std::vector<grpc::Slice> payload) {
  ProtoWriter writer(kHeaderBytes);
  writer.Varint(1, message.row_count);
  writer.Varint(2, message.dim);
  writer.Varint(3, message.state_columns);
  writer.Fixed64(4, message.payload_hash);
  return JoinMessage(std::move(writer), std::move(payload));
}

absl::StatusOr<ScanResponse> DecodeScanResponse(const grpc::ByteBuffer& buffer) {
  absl::StatusOr<std::vector<grpc::Slice>> slices = OpenMessage(buffer);
  if (!slices.ok()) return slices.status();
  ScanResponse message;
  ProtoReader reader(*slices);
  const PayloadRange rows = ReadScanResponse(reader, &message);
  if (PayloadBytes(message) != rows.size) reader.Fail("rows", "does not match the counts");
  if (absl::Status status = reader.Finish("ScanResponse"); !status.ok()) return status;
  message.rows = Payload(std::move(*slices), rows.offset, rows.size);
  if (message.rows.Hash() != message.payload_hash) {
    return absl::DataLossError("ScanResponse.rows does not match its hash");
  }
  return message;
}

}  // namespace hotrow::wire
