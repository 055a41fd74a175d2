#include "client/src/table_scan.h"

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/src/await_shards.h"
#include "client/src/client_error.h"
#include "client/src/interruptible.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

// One server stream, read on the caller's thread.
class ScanStream {
 public:
  ScanStream(ShardChannel& channel, milliseconds timeout)
      : channel_(channel), timeout_(timeout), stub_(channel.channel()) {
    call_ = stub_.PrepareCall(&context_, "/hotrow.v1.ParameterService/Scan", &queue_);
  }

  ~ScanStream() {
    if (started_ && !finished_) {
      context_.TryCancel();
      (void)Finish();
    }
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  absl::Status Named(const absl::Status& status) const {
    return NameShard(status, channel_.shard(), channel_.address());
  }

  // Sends the request and waits for the first message.
  absl::Status Begin(const v1::ScanRequest& request) {
    if (!Start(request)) {
      const absl::Status status = Finish();
      return status.ok() ? NeverBegan() : status;
    }
    has_first_ = Read(&first_);
    return has_first_ ? absl::OkStatus() : Finish();
  }

  // The next message; false at the end or on an error: see Finish.
  bool Next(grpc::ByteBuffer* message) {
    if (finished_) return false;
    if (!has_first_) return Read(message);
    has_first_ = false;
    message->Swap(&first_);
    return true;
  }

  // How the call ended; waits for it.
  absl::Status Finish() {
    if (finished_) return result_;
    finished_ = true;
    grpc::Status status;
    call_->Finish(&status, &context_);
    (void)Await();
    if (timed_out_) {
      status = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "no answer within the deadline");
    }
    if (!status.ok()) result_ = Named(wire::FromGrpcStatus(status));
    return result_;
  }

 private:
  bool Start(const v1::ScanRequest& request) {
    started_ = true;
    call_->StartCall(&context_);
    if (!Await()) return false;
    grpc::ByteBuffer message;
    bool own = false;
    (void)grpc::SerializationTraits<v1::ScanRequest>::Serialize(request, &message, &own);
    call_->WriteLast(message, grpc::WriteOptions(), &context_);
    return Await();
  }

  bool Read(grpc::ByteBuffer* message) {
    call_->Read(message, &context_);
    return Await();
  }

  // A call that ended well without having taken the request in has not read the table.
  absl::Status NeverBegan() const {
    return Named(wire::MakeError(wire::ErrorKind::kInternal,
                                 "it ended the scan before it had taken the request"));
  }

  // Waits for the one operation under way, and gives the call up when it takes too long.
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    const TimePoint deadline = DeadlineIn(timeout_);
    while (queue_.AsyncNext(&tag, &ok, WallClock(NextLook(deadline))) ==
           grpc::CompletionQueue::TIMEOUT) {
      if (!Interrupted() && Now() < deadline) continue;
      timed_out_ = true;
      context_.TryCancel();
      queue_.Next(&tag, &ok);
      return false;
    }
    return ok;
  }

  ShardChannel& channel_;
  const milliseconds timeout_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool started_ = false;
  bool finished_ = false;
  bool timed_out_ = false;
  grpc::ByteBuffer first_;  // when has_first_
  bool has_first_ = false;
  absl::Status result_;  // once finished_
};

// Rows of one message, taken apart.
struct ScanBatch {
  std::vector<std::byte> bytes;
  std::vector<Key> keys;     // (n)
  std::vector<float> rows;   // (n, dim)
  std::vector<float> state;  // (n, state columns)

  void Fill(const wire::ScanResponse& response) {
    const size_t count = response.row_count;
    const size_t row_bytes = size_t{response.dim} * sizeof(float);
    const size_t state_bytes = size_t{response.state_columns} * sizeof(float);
    bytes.resize(response.rows.size());
    response.rows.CopyTo(0, bytes);
    keys.resize(count);
    rows.resize(count * response.dim);
    state.resize(count * response.state_columns);
    const std::byte* record = bytes.data();
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&keys[i], record, sizeof(Key));
      std::memcpy(rows.data() + i * response.dim, record + sizeof(Key), row_bytes);
      if (state_bytes > 0) {
        std::memcpy(state.data() + i * response.state_columns, record + sizeof(Key) + row_bytes,
                    state_bytes);
      }
      record += sizeof(Key) + row_bytes + state_bytes;
    }
  }
};

using Stream = std::unique_ptr<ScanStream>;

absl::StatusOr<Stream> BeginScan(ShardChannel& channel, milliseconds timeout,
                                 const v1::ScanRequest& request) {
  auto stream = std::make_unique<ScanStream>(channel, timeout);
  if (absl::Status status = stream->Begin(request); !status.ok()) return status;
  return stream;
}

// False once `visit` wants no more.
absl::StatusOr<bool> Visit(ScanStream& stream, const Table::Visitor& visit) {
  ScanBatch batch;
  grpc::ByteBuffer message;
  while (stream.Next(&message)) {
    const absl::StatusOr<wire::ScanResponse> response = wire::DecodeScanResponse(message);
    if (!response.ok()) return stream.Named(response.status());
    if (response->row_count == 0) continue;
    batch.Fill(*response);
    if (!visit(batch.keys, batch.rows, batch.state)) return false;
  }
  if (absl::Status status = stream.Finish(); !status.ok()) return status;
  return true;
}

}  // namespace

absl::Status ScanTable(ClientCore& core, const ScanOptions& options, const Table::Visitor& visit) {
  v1::ScanRequest request;
  request.set_table_id(options.table_id);
  request.set_batch_rows(options.batch_rows);
  request.set_with_state(options.with_state);
  for (const auto& channel : core.channels()) {
    Patience patience = core.PatienceOf(std::nullopt);
    const absl::StatusOr<Stream> stream = AskOncePresent(core, {&channel, 1}, patience, [&] {
      return BeginScan(*channel, core.timeout(), request);
    });
    if (!stream.ok()) return stream.status();
    const absl::StatusOr<bool> more = Visit(**stream, visit);
    if (!more.ok()) return more.status();
    if (!*more) break;
  }
  return absl::OkStatus();
}

}  // namespace hotrow::client
