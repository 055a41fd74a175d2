#include "proto/wire/error_codec.h"

#include "proto/wire/utf8.h"

namespace hotrow::wire {

void WriteError(const ErrorInfo& error, uint32_t field, size_t text_limit, ProtoWriter& writer) {
  if (error.ok()) return;
  writer.Message(field, [&](ProtoWriter& message) {
    message.Varint(1, static_cast<uint64_t>(error.kind));
    message.String(2, FitText(error.message, text_limit));
    message.String(3, FitText(error.hint, text_limit));
    message.String(4, FitText(error.table, text_limit));
    message.Int32(5, error.shard);
    message.Varint(6, error.retry_after_ms);
  });
}

void ReadError(ProtoReader& reader, ErrorInfo* error) {
  if (error->ok()) error->shard = 0;  // proto3 leaves a zero out; a second Error is merged
  auto kind = static_cast<uint64_t>(error->kind);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Read("kind", &kind);
        break;
      case 2:
        reader.ReadString("message", &error->message);
        break;
      case 3:
        reader.ReadString("hint", &error->hint);
        break;
      case 4:
        reader.ReadString("table", &error->table);
        break;
      case 5:
        reader.Read("shard", &error->shard);
        break;
      case 6:
        reader.Read("retry_after_ms", &error->retry_after_ms);
        break;
      default:
        reader.SkipField();
    }
  }
  const bool known = kind >= 1 && kind <= static_cast<uint64_t>(ErrorKind::kInternal);
  error->kind = known ? static_cast<ErrorKind>(kind) : ErrorKind::kInternal;
}

}  // namespace hotrow::wire
