#include "proto/wire/status_codec.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "hotrow/v1/error.pb.h"
#include "proto/wire/error_codec.h"
#include "proto/wire/utf8.h"

namespace hotrow::wire {
namespace {

constexpr const char* kPayloadUrl = "type.googleapis.com/hotrow.v1.Error";

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

// Kind of a status that was not made here. What leaves the outcome open counts as unavailable.
ErrorKind KindOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return ErrorKind::kNone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return ErrorKind::kInvalidArgument;
    case absl::StatusCode::kNotFound:
      return ErrorKind::kNotFound;
    case absl::StatusCode::kAlreadyExists:
      return ErrorKind::kAlreadyExists;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
      return ErrorKind::kUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return ErrorKind::kDeadlineExceeded;
    case absl::StatusCode::kResourceExhausted:
      return ErrorKind::kOverloaded;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ErrorKind::kPermissionDenied;
    case absl::StatusCode::kDataLoss:
      return ErrorKind::kDataLoss;
    case absl::StatusCode::kUnimplemented:
      return ErrorKind::kUnimplemented;
    default:
      return ErrorKind::kInternal;
  }
}

std::optional<ErrorInfo> PayloadOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  v1::Error proto;
  if (!payload.has_value() || !proto.ParseFromString(std::string(*payload))) return std::nullopt;
  ErrorInfo error = FromProto(proto);
  if (error.ok()) return std::nullopt;
  return error;
}

absl::Status WithPayload(absl::Status status, const ErrorInfo& error) {
  v1::Error proto;
  ToProto(error, &proto);
  // Not Cord(std::string&&): gcc and clang name that template instance differently.
  const std::string bytes = proto.SerializeAsString();
  status.SetPayload(kPayloadUrl, absl::Cord(absl::string_view(bytes.data(), bytes.size())));
  return status;
}

}  // namespace

absl::StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kNone:
      return absl::StatusCode::kOk;
    case ErrorKind::kInvalidArgument:
      return absl::StatusCode::kInvalidArgument;
    case ErrorKind::kKeyRange:
      return absl::StatusCode::kOutOfRange;
    case ErrorKind::kNotFound:
      return absl::StatusCode::kNotFound;
    case ErrorKind::kAlreadyExists:
      return absl::StatusCode::kAlreadyExists;
    case ErrorKind::kSchemaMismatch:
    case ErrorKind::kSessionLost:
      return absl::StatusCode::kFailedPrecondition;
    case ErrorKind::kUnavailable:
      return absl::StatusCode::kUnavailable;
    case ErrorKind::kDeadlineExceeded:
      return absl::StatusCode::kDeadlineExceeded;
    case ErrorKind::kOverloaded:
    case ErrorKind::kCapacityFull:
      return absl::StatusCode::kResourceExhausted;
    case ErrorKind::kStepAborted:
    case ErrorKind::kStaleMap:
    case ErrorKind::kOutOfOrder:
      return absl::StatusCode::kAborted;
    case ErrorKind::kPermissionDenied:
      return absl::StatusCode::kPermissionDenied;
    case ErrorKind::kDataLoss:
      return absl::StatusCode::kDataLoss;
    case ErrorKind::kUnimplemented:
      return absl::StatusCode::kUnimplemented;
    case ErrorKind::kInternal:
      return absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInternal;
}

absl::Status ToStatus(const ErrorInfo& error) {
  if (error.ok()) return absl::OkStatus();
  return WithPayload(absl::Status(CodeOf(error.kind), FitText(error.message, kMaxErrorTextBytes)),
                     error);
}

ErrorInfo FromStatus(const absl::Status& status) {
  if (status.ok()) return {};
  if (std::optional<ErrorInfo> error = PayloadOf(status)) return *std::move(error);
  return {.kind = KindOfCode(status.code()), .message = MessageOf(status)};
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::Error proto;
  ToProto(FromStatus(status), &proto);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      FitText(MessageOf(status), kMaxErrorTextBytes), proto.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const bool known = status.error_code() > 0 && status.error_code() <= grpc::UNAUTHENTICATED;
  const auto code =
      known ? static_cast<absl::StatusCode>(status.error_code()) : absl::StatusCode::kUnknown;
  absl::Status plain(code, status.error_message());
  v1::Error proto;
  if (!proto.ParseFromString(status.error_details())) return plain;
  const ErrorInfo error = FromProto(proto);
  return error.ok() ? plain : WithPayload(std::move(plain), error);
}

void ToProto(const ErrorInfo& error, v1::Error* proto) {
  proto->Clear();
  proto->set_kind(static_cast<v1::ErrorKind>(error.kind));
  proto->set_message(FitText(error.message, kMaxErrorTextBytes));
  proto->set_hint(FitText(error.hint, kMaxErrorTextBytes));
  proto->set_table(FitText(error.table, kMaxErrorTextBytes));
  proto->set_shard(error.shard);
  proto->set_retry_after_ms(error.retry_after_ms);
}

ErrorInfo FromProto(const v1::Error& proto) {
  const bool known = v1::ErrorKind_IsValid(proto.kind());
  return {.kind = known ? static_cast<ErrorKind>(proto.kind()) : ErrorKind::kInternal,
          .message = proto.message(),
          .hint = proto.hint(),
          .table = proto.table(),
          .shard = proto.shard(),
          .retry_after_ms = proto.retry_after_ms()};
}

absl::Status MakeError(ErrorKind kind, std::string message) {
  return ToStatus({.kind = kind, .message = std::move(message)});
}

}  // namespace hotrow::wire
