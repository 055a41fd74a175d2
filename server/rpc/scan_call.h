// ScanCall: one server stream of all rows of a table, one batch in flight.
//
// For the slow log a scan is its steps, one after the other: `collect`ing the keys, then `read`ing
// batches.
//
// Thread safety, ownership: ServerCall's. Bounds: the shard's (ScanSet::kMaxScans and its
// queue); more are refused with kOverloaded. Errors: the status of the call.

#pragma once

#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "server/rpc/server_call.h"
#include "server/rpc/services.h"
#include "server/shard/shard.h"

namespace hotrow {

class ScanCall final : public ServerCall {
 public:
  ScanCall(CallEnvironment* environment, grpc::ServerCompletionQueue* queue);

 private:
  void Accept(void* tag) override;
  std::shared_ptr<ServerCall> Another() override;
  void Pump() override;

  void Begin();
  void AskForBatch();
  void TakeCursor(absl::StatusOr<std::unique_ptr<ScanCursor>> cursor);
  void TakeBatch(absl::StatusOr<ScanReply> batch);
  void KeepCursor(absl::StatusOr<std::unique_ptr<ScanCursor>> cursor) HOTROW_REQUIRES(mutex_);
  void KeepBatch(absl::StatusOr<ScanReply> batch) HOTROW_REQUIRES(mutex_);
  void SetResult(const absl::Status& status) HOTROW_REQUIRES(mutex_);
  void Finish(const grpc::Status& status);
  // A step has ended: a line of the slow log when it took long. Not under the lock, as the loop
  // may be waiting for it.
  struct StepOutcome {
    const char* step = "";
    uint64_t rows = 0;
    uint64_t bytes = 0;
  };
  void CountStep(RpcMetrics::Time began, const StepOutcome& outcome);
  void OnWritten(bool ok);
  void OnFinished(bool ok);

  CallEnvironment* const environment_;
  RpcMetrics* const metrics_;
  grpc::ByteBuffer request_;  // loop only
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};
  RpcMetrics::Time started_;  // loop only
  bool begun_ = false;        // loop only

  std::unique_ptr<ScanCursor> cursor_ HOTROW_GUARDED_BY(mutex_);
  std::optional<grpc::ByteBuffer> batch_ HOTROW_GUARDED_BY(mutex_);
  std::optional<grpc::Status> result_ HOTROW_GUARDED_BY(mutex_);
  bool asking_ HOTROW_GUARDED_BY(mutex_) = false;
  RpcMetrics::Time step_began_ HOTROW_GUARDED_BY(mutex_);
  bool writing_ HOTROW_GUARDED_BY(mutex_) = false;
  bool finishing_ HOTROW_GUARDED_BY(mutex_) = false;

  MemberTag<ScanCall> write_tag_{this, &ScanCall::OnWritten};
  MemberTag<ScanCall> finish_tag_{this, &ScanCall::OnFinished};
};

}  // namespace hotrow
