// Encoding of pulls.

#include <utility>

#include "proto/wire/batch_codec.h"
#include "proto/wire/error_codec.h"
#include "proto/wire/message_slices.h"
#include "proto/wire/proto_reader.h"
#include "proto/wire/proto_writer.h"

namespace hotrow::wire {
namespace {

constexpr size_t kHeaderBytes = 128;  // without tables
constexpr size_t kTableBytes = 16;

void ReadTableKeys(ProtoReader& reader, TableKeys* table) {
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("table_id", &table->table_id);
        break;
      case 2:
        reader.Read("key_count", &table->key_count);
        break;
      default:
        reader.SkipField();
    }
  }
}

void ReadTableRows(ProtoReader& reader, TableRows* table) {
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("table_id", &table->table_id);
        break;
      case 2:
        reader.Read("row_count", &table->row_count);
        break;
      case 3:
        reader.Read("dim", &table->dim);
        break;
      case 4:
        reader.Read("initial_count", &table->initial_count);
        break;
      default:
        reader.SkipField();
    }
  }
  if (table->dim > kMaxDim) reader.Fail("dim", "exceeds the limit");
}

PayloadRange ReadPullRequest(ProtoReader& reader, PullRequest* message) {
  PayloadRange keys;
  uint32_t mode = 0;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("request_id", &message->request_id);
        break;
      case 2:
        reader.Read("timeline", &message->timeline);
        break;
      case 3:
        reader.Read("map_version", &message->map_version);
        break;
      case 4:
        reader.Read("mode", &mode);
        break;
      case 5:
        reader.Read("deadline_ms", &message->deadline_ms);
        break;
      case 6:
        reader.ReadElement("tables", kMaxTablesPerMessage, &message->tables,
                           [&](TableKeys* table) { ReadTableKeys(reader, table); });
        break;
      case kPayloadField:
        reader.ReadPayload("keys", &keys);
        break;
      default:
        reader.SkipField();
    }
  }
  message->mode = reader.ToEnum("mode", mode, PullMode::kReadOnly);
  return keys;
}

PayloadRange ReadPullResponse(ProtoReader& reader, PullResponse* message) {
  PayloadRange rows;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("request_id", &message->request_id);
        break;
      case 2:
        reader.ReadMessage("error", [&] { ReadError(reader, &message->error); });
        break;
      case 3:
        reader.ReadElement("tables", kMaxTablesPerMessage, &message->tables,
                           [&](TableRows* table) { ReadTableRows(reader, table); });
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
  return rows;
}

uint64_t PayloadBytes(const std::vector<TableKeys>& tables) {
  uint64_t bytes = 0;  // 256 x 2^32 x 8 fits
  for (const TableKeys& table : tables) bytes += uint64_t{table.key_count} * sizeof(Key);
  return bytes;
}

uint64_t PayloadBytes(const std::vector<TableRows>& tables) {
  uint64_t bytes = 0;  // 256 x 2^32 x 2^16 x 4 fits
  for (const TableRows& table : tables) {
    bytes += uint64_t{table.row_count} * table.dim * sizeof(float);
  }
  return bytes;
}

}  // namespace

grpc::ByteBuffer Encode(const PullRequest& message, std::vector<grpc::Slice> payload) {
  ProtoWriter writer(kHeaderBytes + message.tables.size() * kTableBytes);
  writer.Varint(1, message.request_id);
  writer.Varint(2, message.timeline);
  writer.Varint(3, message.map_version);
  writer.Varint(4, static_cast<uint64_t>(message.mode));
  writer.Varint(5, message.deadline_ms);
  for (const TableKeys& table : message.tables) {
    writer.Message(6, [&](ProtoWriter& element) {
      element.Varint(1, table.table_id);
      element.Varint(2, table.key_count);
    });
  }
  return JoinMessage(std::move(writer), std::move(payload));
}

grpc::ByteBuffer Encode(const PullResponse& message, std::vector<grpc::Slice> payload) {
  ProtoWriter writer(kHeaderBytes + message.tables.size() * kTableBytes);
  writer.Varint(1, message.request_id);
  WriteError(message.error, 2, kMaxErrorTextBytes, writer);
  for (const TableRows& table : message.tables) {
    writer.Message(3, [&](ProtoWriter& element) {
      element.Varint(1, table.table_id);
      element.Varint(2, table.row_count);
      element.Varint(3, table.dim);
      element.Varint(4, table.initial_count);
    });
  }
  writer.Fixed64(4, message.payload_hash);
  return JoinMessage(std::move(writer), std::move(payload));
}

absl::StatusOr<PullRequest> DecodePullRequest(const grpc::ByteBuffer& buffer) {
  absl::StatusOr<std::vector<grpc::Slice>> slices = OpenMessage(buffer);
  if (!slices.ok()) return slices.status();
  PullRequest message;
  ProtoReader reader(*slices);
  const PayloadRange keys = ReadPullRequest(reader, &message);
  if (PayloadBytes(message.tables) != keys.size) reader.Fail("keys", "does not match the counts");
  if (absl::Status status = reader.Finish("PullRequest"); !status.ok()) return status;
  message.keys = Payload(std::move(*slices), keys.offset, keys.size);
  return message;
}

absl::StatusOr<PullResponse> DecodePullResponse(const grpc::ByteBuffer& buffer) {
  absl::StatusOr<std::vector<grpc::Slice>> slices = OpenMessage(buffer);
  if (!slices.ok()) return slices.status();
  PullResponse message;
  ProtoReader reader(*slices);
  const PayloadRange rows = ReadPullResponse(reader, &message);
  if (PayloadBytes(message.tables) != rows.size) reader.Fail("rows", "does not match the counts");
  if (!message.error.ok() && !message.tables.empty()) reader.Fail("tables", "come with an error");
  if (absl::Status status = reader.Finish("PullResponse"); !status.ok()) return status;
  message.rows = Payload(std::move(*slices), rows.offset, rows.size);
  if (message.error.ok() && message.rows.Hash() != message.payload_hash) {
    return absl::DataLossError("PullResponse.rows does not match its hash");
  }
  return message;
}

}  // namespace hotrow::wire
