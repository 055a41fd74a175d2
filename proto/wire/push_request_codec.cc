// Encoding of push requests.

#include <algorithm>
#include <utility>

#include "proto/wire/batch_codec.h"
#include "proto/wire/message_slices.h"
#include "proto/wire/proto_reader.h"
#include "proto/wire/proto_writer.h"

namespace hotrow::wire {
namespace {

constexpr size_t kHeaderBytes = 64;   // without sub-pushes
constexpr size_t kSubPushBytes = 48;  // without tables
constexpr size_t kTableBytes = 32;

void ReadSubPushTable(ProtoReader& reader, SubPushTable* table) {
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("table_id", &table->table_id);
        break;
      case 2:
        reader.Read("key_count", &table->key_count);
        break;
      case 3:
        reader.Read("dim", &table->dim);
        break;
      case 4:
        reader.Read("step", &table->step);
        break;
      case 5:
        reader.ReadFixed("learning_rate", &table->learning_rate);
        break;
      default:
        reader.SkipField();
    }
  }
  if (table->dim > kMaxDim) reader.Fail("dim", "exceeds the limit");
}

bool NamesATableTwice(const std::vector<SubPushTable>& tables) {
  std::vector<uint32_t> ids;
  ids.reserve(tables.size());
  for (const SubPushTable& table : tables) ids.push_back(table.table_id);
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

void CheckTables(ProtoReader& reader, const SubPush& sub_push) {
  if (sub_push.operation == Operation::kSkip) {
    if (!sub_push.tables.empty()) reader.Fail("tables", "are not allowed in a skip");
    return;
  }
  if (sub_push.tables.size() > 1 && NamesATableTwice(sub_push.tables)) {
    reader.Fail("tables", "name a table twice");
  }
  const bool remove = sub_push.operation == Operation::kRemove;
  for (const SubPushTable& table : sub_push.tables) {
    if (remove != (table.dim == 0)) {
      reader.Fail("tables.dim", remove ? "must be 0 in a remove" : "is 0");
    }
  }
}

void ReadSubPush(ProtoReader& reader, SubPush* sub_push) {
  uint32_t operation = 0;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("partition", &sub_push->partition);
        break;
      case 2:
        reader.Read("sequence", &sub_push->sequence);
        break;
      case 3:
        reader.Read("owner_epoch", &sub_push->owner_epoch);
        break;
      case 4:
        reader.ReadFixed("content_hash", &sub_push->content_hash);
        break;
      case 5:
        reader.Read("operation", &operation);
        break;
      case 6:
        reader.ReadElement("tables", kMaxTablesPerMessage, &sub_push->tables,
                           [&](SubPushTable* table) { ReadSubPushTable(reader, table); });
        break;
      default:
        reader.SkipField();
    }
  }
  sub_push->operation = reader.ToEnum("operation", operation, Operation::kSkip);
  CheckTables(reader, *sub_push);
}

PayloadRange ReadPushRequest(ProtoReader& reader, PushRequest* message) {
  PayloadRange payload;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("request_id", &message->request_id);
        break;
      case 2:
        reader.Read("session", &message->session);
        break;
      case 3:
        reader.Read("timeline", &message->timeline);
        break;
      case 4:
        reader.Read("map_version", &message->map_version);
        break;
      case 5:
        reader.Read("deadline_ms", &message->deadline_ms);
        break;
      case 6:
        reader.ReadElement("sub_pushes", kMaxSubPushesPerMessage, &message->sub_pushes,
                           [&](SubPush* sub_push) { ReadSubPush(reader, sub_push); });
        break;
      case kPayloadField:
        reader.ReadPayload("payload", &payload);
        break;
      default:
        reader.SkipField();
    }
  }
  return payload;
}

// Sum of the parts, which fits 64 bits because it stops once it is beyond any message.
uint64_t PayloadBytes(const std::vector<SubPush>& sub_pushes) {
  uint64_t bytes = 0;
  for (const SubPush& sub_push : sub_pushes) {
    bytes += sub_push.payload_bytes();  // < 2^59: 256 tables x 2^32 keys x (8 + 2^18)
    if (bytes > kMaxMessageBytes) break;
  }
  return bytes;
}

void WriteSubPush(const SubPush& sub_push, ProtoWriter& writer) {
  writer.Varint(1, sub_push.partition);
  writer.Varint(2, sub_push.sequence);
  writer.Varint(3, sub_push.owner_epoch);
  writer.Fixed64(4, sub_push.content_hash);
  writer.Varint(5, static_cast<uint64_t>(sub_push.operation));
  for (const SubPushTable& table : sub_push.tables) {
    writer.Message(6, [&](ProtoWriter& element) {
      element.Varint(1, table.table_id);
      element.Varint(2, table.key_count);
      element.Varint(3, table.dim);
      element.Varint(4, table.step);
      element.Float(5, table.learning_rate);
    });
  }
}

size_t ExpectedHeaderBytes(const PushRequest& message) {
  size_t bytes = kHeaderBytes;
  for (const SubPush& sub_push : message.sub_pushes) {
    bytes += kSubPushBytes + sub_push.tables.size() * kTableBytes;
  }
  return bytes;
}

}  // namespace

uint64_t SubPush::payload_bytes() const {
  uint64_t bytes = 0;
  for (const SubPushTable& table : tables) bytes += table.payload_bytes();
  return bytes;
}

grpc::ByteBuffer Encode(const PushRequest& message, std::vector<grpc::Slice> payload) {
  ProtoWriter writer(ExpectedHeaderBytes(message));
  writer.Varint(1, message.request_id);
  writer.Varint(2, message.session);
  writer.Varint(3, message.timeline);
  writer.Varint(4, message.map_version);
  writer.Varint(5, message.deadline_ms);
  for (const SubPush& sub_push : message.sub_pushes) {
    writer.Message(6, [&](ProtoWriter& element) { WriteSubPush(sub_push, element); });
  }
  return JoinMessage(std::move(writer), std::move(payload));
}

absl::StatusOr<PushRequest> DecodePushRequest(const grpc::ByteBuffer& buffer) {
  absl::StatusOr<std::vector<grpc::Slice>> slices = OpenMessage(buffer);
  if (!slices.ok()) return slices.status();
  PushRequest message;
  ProtoReader reader(*slices);
  const PayloadRange payload = ReadPushRequest(reader, &message);
  if (PayloadBytes(message.sub_pushes) != payload.size) {
    reader.Fail("payload", "does not match the counts");
  }
  if (absl::Status status = reader.Finish("PushRequest"); !status.ok()) return status;
  message.payload = Payload(std::move(*slices), payload.offset, payload.size);
  return message;
}

}  // namespace hotrow::wire
