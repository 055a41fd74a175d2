// One error value on its three ways: absl::Status inside a process, hotrow.v1.Error in a message,
// grpc::Status of a unary call. Nothing is lost on any of them: kind, table, shard, hint and retry
// advice travel along.
//
// Thread safety: pure functions.

#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "proto/wire/batch_codec.h"

namespace hotrow::v1 {
class Error;  // generated
}

namespace hotrow::wire {

// The gRPC/absl code of a kind, e.g. kCapacityFull -> RESOURCE_EXHAUSTED.
absl::StatusCode CodeOf(ErrorKind kind);

// A status with the error as payload. OK for kNone.
absl::Status ToStatus(const ErrorInfo& error);
// The inverse. A status without our payload gets the kind that fits its code and its message.
ErrorInfo FromStatus(const absl::Status& status);

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

void ToProto(const ErrorInfo& error, v1::Error* proto);
ErrorInfo FromProto(const v1::Error& proto);

// Shorthand: a status of `kind`. Add table, shard and hint by designated initializers of ErrorInfo
// where known.
absl::Status MakeError(ErrorKind kind, std::string message);

}  // namespace hotrow::wire
