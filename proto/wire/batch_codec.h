// The only encoder and decoder of the four data messages of hotrow/v1/parameter_service.proto (and
// of Scan's reply). Their encoding is protobuf's, so that any generated stub can talk to us;
// headers are parsed field by field, the payload field is never copied.
//
// Thread safety: pure functions. Ownership: a decoded message owns references to the received
// slices. Errors: decoding gives InvalidArgument with a sentence that names the field for anything
// malformed: truncated fields, a payload field that is not the last, lengths that do not add up
// (computed in 64 bits), counts over the limits below. It never reads outside the buffer and never
// allocates more than the limits allow. Unknown fields are skipped, as protobuf does.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/wire/payload.h"

namespace hotrow::wire {

inline constexpr size_t kMaxMessageBytes = size_t{4} << 20;  // whole message, header included
inline constexpr size_t kMaxPayloadBytes =
    kMaxMessageBytes - (64 << 10);  // what a sender puts into one message
inline constexpr int64_t kMaxTablesPerMessage = 256;
// A gradient times a rate, and the sum of 10^8 squares of gradients, are finite float32 values.
inline constexpr float kMaxGradientBound = 1e15F;
inline constexpr float kMaxLearningRate = 1e15F;
inline constexpr uint64_t kMaxStep = uint64_t{1} << 53;  // training steps: exact as a double
// Most that the header of a message takes: what it needs without its parts, one sub-push without
// its tables, and one table of any message. For senders that fill a message up to its limit.
inline constexpr size_t kMaxHeaderBytes = 64;
inline constexpr size_t kMaxSubPushHeaderBytes = 64;
inline constexpr size_t kMaxTableHeaderBytes = 48;
inline constexpr int64_t kMaxSubPushesPerMessage = 1024;
// Last answers that a server keeps per (session, partition) to recognise what is sent again.
inline constexpr int64_t kKeptAnswers = 64;
inline constexpr int64_t kMaxDim = 65536;
inline constexpr int64_t kMaxStateColumns = 4 * kMaxDim;

// Numbers are those of the proto enums.
enum class ErrorKind : uint8_t {
  kNone = 0,
  kInvalidArgument = 1,
  kKeyRange = 2,
  kNotFound = 3,
  kAlreadyExists = 4,
  kSchemaMismatch = 5,
  kUnavailable = 6,
  kDeadlineExceeded = 7,
  kOverloaded = 8,
  kCapacityFull = 9,
  kStepAborted = 10,
  kSessionLost = 11,
  kPermissionDenied = 12,
  kDataLoss = 13,
  kUnimplemented = 14,
  kStaleMap = 15,
  kOutOfOrder = 16,
  kInternal = 17,
};

// hotrow.v1.Error as a plain value; kind == kNone means success.
struct ErrorInfo {
  ErrorKind kind = ErrorKind::kNone;
  std::string message{};        // one sentence: table, shard, cause; sent up to 1 KiB
  std::string hint{};           // what to do next, may be empty
  std::string table{};          // table name, empty if none
  int32_t shard = -1;           // -1: raised by the client
  uint32_t retry_after_ms = 0;  // 0: no advice

  bool ok() const { return kind == ErrorKind::kNone; }
};

enum class PullMode : uint8_t { kTrain = 1, kReadOnly = 2 };

struct TableKeys {
  uint32_t table_id = 0;
  uint32_t key_count = 0;  // keys of this table in the payload
};

struct PullRequest {
  uint64_t request_id = 0;  // chosen by the client, echoed by the server
  uint64_t timeline = 0;
  uint64_t map_version = 0;
  PullMode mode = PullMode::kTrain;
  uint32_t deadline_ms = 0;       // time left when sent; 0: none
  std::vector<TableKeys> tables;  // in payload order
  Payload keys;                   // decoded: exactly the sum of key_count x 8 bytes
};

struct TableRows {
  uint32_t table_id = 0;
  uint32_t row_count = 0;
  uint32_t dim = 0;
  uint32_t initial_count = 0;  // of row_count: not stored, answered from the initializer
};

struct PullResponse {
  uint64_t request_id = 0;
  ErrorInfo error;                // not ok: no tables, no rows
  std::vector<TableRows> tables;  // in payload order
  uint64_t payload_hash = 0;      // XXH3-64 of the rows, also of no rows
  Payload rows;                   // decoded: exactly the sum of row_count x dim x 4 bytes
};

enum class Operation : uint8_t { kPush = 1, kUpsert = 2, kRemove = 3, kSkip = 4 };

struct SubPushTable {
  uint32_t table_id = 0;
  uint32_t key_count = 0;
  uint32_t dim = 0;   // 0 for kRemove
  uint64_t step = 0;  // training step, >= 1
  float learning_rate = 0.0F;

  // Bytes of this table's part of the payload: keys, then rows.
  uint64_t payload_bytes() const { return uint64_t{key_count} * (8 + uint64_t{dim} * 4); }
};

struct SubPush {
  uint32_t partition = 0;
  uint64_t sequence = 0;      // counts from 1 per (session, partition)
  uint64_t owner_epoch = 0;   // 0: unknown
  uint64_t content_hash = 0;  // see hashes.h
  Operation operation = Operation::kPush;
  std::vector<SubPushTable> tables;  // in payload order, each once; none in a skip

  uint64_t payload_bytes() const;
};

struct PushRequest {
  uint64_t request_id = 0;
  uint64_t session = 0;
  uint64_t timeline = 0;
  uint64_t map_version = 0;
  uint32_t deadline_ms = 0;         // time left when sent; 0: none
  std::vector<SubPush> sub_pushes;  // in payload order
  Payload payload;                  // decoded: exactly the sum of the sub-pushes' payload_bytes
};

enum class Outcome : uint8_t { kApplied = 1, kRefused = 2, kRetry = 3 };

struct TableCounts {
  uint32_t table_id = 0;
  uint32_t rows_updated = 0;
  uint32_t rows_created = 0;
  uint32_t rows_refused = 0;  // new keys that found no room
};

struct SubPushResult {
  uint32_t partition = 0;
  uint64_t sequence = 0;
  Outcome outcome = Outcome::kRetry;
  bool duplicate = false;  // applied or refused earlier: the kept answer
  uint64_t applied_lsn = 0;
  uint64_t durable_sequence = 0;
  std::vector<TableCounts> counts;
  ErrorInfo error;                // of kRefused and kRetry
  std::vector<Key> refused_keys;  // found no room, in the order of the tables
};

struct PushResponse {
  uint64_t request_id = 0;
  ErrorInfo error;                     // not ok: the message was not let in, all numbers stay open
  std::vector<SubPushResult> results;  // one per sub-push, in their order
};

struct ScanResponse {
  uint32_t row_count = 0;
  uint32_t dim = 0;
  uint32_t state_columns = 0;
  uint64_t payload_hash = 0;
  Payload rows;  // decoded: row_count x (8 + (dim + state_columns) x 4) bytes
};

// Encoders. `payload` slices are appended by reference; the payload members of the message are
// ignored. Hash fields are taken as they are: callers fill payload_hash (Payload::Hash or XXH3
// while writing) before encoding.
grpc::ByteBuffer Encode(const PullRequest& message, std::vector<grpc::Slice> payload);
grpc::ByteBuffer Encode(const PullResponse& message, std::vector<grpc::Slice> payload);
grpc::ByteBuffer Encode(const PushRequest& message, std::vector<grpc::Slice> payload);
grpc::ByteBuffer Encode(const PushResponse& message);
grpc::ByteBuffer Encode(const ScanResponse& message, std::vector<grpc::Slice> payload);

absl::StatusOr<PullRequest> DecodePullRequest(const grpc::ByteBuffer& buffer);
// Verifies payload_hash: DataLoss when it does not match.
absl::StatusOr<PullResponse> DecodePullResponse(const grpc::ByteBuffer& buffer);
absl::StatusOr<PushRequest> DecodePushRequest(const grpc::ByteBuffer& buffer);
absl::StatusOr<PushResponse> DecodePushResponse(const grpc::ByteBuffer& buffer);
absl::StatusOr<ScanResponse> DecodeScanResponse(const grpc::ByteBuffer& buffer);

}  // namespace hotrow::wire
