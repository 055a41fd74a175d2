// Encoding of push responses.

#include <utility>

#include "proto/wire/batch_codec.h"
#include "proto/wire/error_codec.h"
#include "proto/wire/message_slices.h"
#include "proto/wire/proto_reader.h"
#include "proto/wire/proto_writer.h"

namespace hotrow::wire {
namespace {

constexpr size_t kHeaderBytes = 64;  // without results
constexpr size_t kResultBytes = 64;
constexpr size_t kShortErrorTextBytes = 128;

void ReadTableCounts(ProtoReader& reader, TableCounts* counts) {
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("table_id", &counts->table_id);
        break;
      case 2:
        reader.Read("rows_updated", &counts->rows_updated);
        break;
      case 3:
        reader.Read("rows_created", &counts->rows_created);
        break;
      case 4:
        reader.Read("rows_refused", &counts->rows_refused);
        break;
      default:
        reader.SkipField();
    }
  }
}

void ReadResult(ProtoReader& reader, SubPushResult* result) {
  uint32_t outcome = 0;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("partition", &result->partition);
        break;
      case 2:
        reader.Read("sequence", &result->sequence);
        break;
      case 3:
        reader.Read("outcome", &outcome);
        break;
      case 4:
        reader.Read("duplicate", &result->duplicate);
        break;
      case 5:
        reader.Read("applied_lsn", &result->applied_lsn);
        break;
      case 6:
        reader.Read("durable_sequence", &result->durable_sequence);
        break;
      case 7:
        reader.ReadElement("counts", kMaxTablesPerMessage, &result->counts,
                           [&](TableCounts* counts) { ReadTableCounts(reader, counts); });
        break;
      case 8:
        reader.ReadMessage("error", [&] { ReadError(reader, &result->error); });
        break;
      case 9:
        reader.ReadRepeatedFixed("refused_keys", &result->refused_keys);
        break;
      default:
        reader.SkipField();
    }
  }
  result->outcome = reader.ToEnum("outcome", outcome, Outcome::kRetry);
}

void ReadPushResponse(ProtoReader& reader, PushResponse* message) {
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("request_id", &message->request_id);
        break;
      case 2:
        reader.ReadMessage("error", [&] { ReadError(reader, &message->error); });
        break;
      case 3:
        reader.ReadElement("results", kMaxSubPushesPerMessage, &message->results,
                           [&](SubPushResult* result) { ReadResult(reader, result); });
        break;
      default:
        reader.SkipField();
    }
  }
}

void WriteResult(const SubPushResult& result, size_t text_limit, ProtoWriter& writer) {
  writer.Varint(1, result.partition);
  writer.Varint(2, result.sequence);
  writer.Varint(3, static_cast<uint64_t>(result.outcome));
  writer.Varint(4, result.duplicate ? 1 : 0);
  writer.Varint(5, result.applied_lsn);
  writer.Varint(6, result.durable_sequence);
  for (const TableCounts& counts : result.counts) {
    writer.Message(7, [&](ProtoWriter& element) {
      element.Varint(1, counts.table_id);
      element.Varint(2, counts.rows_updated);
      element.Varint(3, counts.rows_created);
      element.Varint(4, counts.rows_refused);
    });
  }
  WriteError(result.error, 8, text_limit, writer);
  writer.PackedFixed64(9, result.refused_keys);
}

ProtoWriter WritePushResponse(const PushResponse& message, size_t text_limit) {
  ProtoWriter writer(kHeaderBytes + message.results.size() * kResultBytes);
  writer.Varint(1, message.request_id);
  WriteError(message.error, 2, text_limit, writer);
  for (const SubPushResult& result : message.results) {
    writer.Message(3, [&](ProtoWriter& element) { WriteResult(result, text_limit, element); });
  }
  return writer;
}

}  // namespace

// Full error texts of many sub-pushes beside many refused keys could exceed a message; texts give
// way, keys never do.
grpc::ByteBuffer Encode(const PushResponse& message) {
  ProtoWriter writer = WritePushResponse(message, kMaxErrorTextBytes);
  if (writer.size() > kMaxMessageBytes) writer = WritePushResponse(message, kShortErrorTextBytes);
  return JoinMessage(std::move(writer), {});
}

absl::StatusOr<PushResponse> DecodePushResponse(const grpc::ByteBuffer& buffer) {
  absl::StatusOr<std::vector<grpc::Slice>> slices = OpenMessage(buffer);
  if (!slices.ok()) return slices.status();
  PushResponse message;
  ProtoReader reader(*slices);
  ReadPushResponse(reader, &message);
  if (absl::Status status = reader.Finish("PushResponse"); !status.ok()) return status;
  return message;
}

}  // namespace hotrow::wire
