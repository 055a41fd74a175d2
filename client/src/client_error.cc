#include "client/src/client_error.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "hotrow/errors.h"
#include "proto/wire/status_codec.h"

namespace hotrow {
namespace {

constexpr char kClientKindUrl[] = "hotrow.client/kind";
constexpr char kHintUrl[] = "hotrow.client/hint";
constexpr char kRefusedKeysUrl[] = "hotrow.client/refused_keys";

static_assert(static_cast<int>(ErrorKind::kInternal) ==
              static_cast<int>(wire::ErrorKind::kInternal));
static_assert(static_cast<int>(ErrorKind::kCapacityFull) ==
              static_cast<int>(wire::ErrorKind::kCapacityFull));

absl::Status ClientOnlyError(ErrorKind kind, const std::string& message, const std::string& hint) {
  absl::Status status = absl::FailedPreconditionError(message);
  const char bytes[] = {static_cast<char>(kind)};
  status.SetPayload(kClientKindUrl, absl::Cord(absl::string_view(bytes, 1)));
  status.SetPayload(kHintUrl, absl::Cord(hint));
  return status;
}

std::string PayloadOf(const absl::Status& status, const char* url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace

ErrorDetails DescribeError(const absl::Status& status) {
  if (status.ok()) return {};
  const std::string kind = PayloadOf(status, kClientKindUrl);
  if (!kind.empty()) {
    ErrorDetails details;
    details.kind = static_cast<ErrorKind>(kind[0]);
    details.message = std::string(status.message());
    details.hint = PayloadOf(status, kHintUrl);
    return details;
  }
  const wire::ErrorInfo error = wire::FromStatus(status);
  return {.kind = static_cast<ErrorKind>(error.kind),
          .message = error.message,
          .hint = error.hint,
          .table = error.table,
          .shard = error.shard,
          .retry_after_ms = error.retry_after_ms};
}

std::vector<Key> RefusedKeys(const absl::Status& status) {
  const std::string bytes = PayloadOf(status, kRefusedKeysUrl);
  std::vector<Key> keys(bytes.size() / sizeof(Key));
  if (!keys.empty()) std::memcpy(keys.data(), bytes.data(), keys.size() * sizeof(Key));
  return keys;
}

namespace client {

absl::Status InvalidInput(const std::string& table, std::string message, std::string hint) {
  return wire::ToStatus({.kind = wire::ErrorKind::kInvalidArgument,
                         .message = std::move(message),
                         .hint = std::move(hint),
                         .table = table});
}

absl::Status ForkedError() {
  return ClientOnlyError(
      ErrorKind::kForkedProcess,
      absl::StrCat("gRPC was in use before fork() and cannot be used in the child process ",
                   getpid()),
      "Start worker processes with spawn or forkserver instead of fork (DataLoader: "
      "multiprocessing_context='spawn'), or connect only in the children.");
}

absl::Status ClosedError() {
  return ClientOnlyError(ErrorKind::kClosed, "the client is closed", "Connect a new client.");
}

void NameShard(wire::ErrorInfo& error, uint32_t shard, const std::string& address) {
  if (error.ok() || error.shard >= 0) return;
  error.shard = static_cast<int32_t>(shard);
  error.message = absl::StrCat("shard ", shard, " at ", address, ": ", error.message);
  if (error.kind == wire::ErrorKind::kUnavailable && error.hint.empty()) {
    error.hint =
        "Check that hotrow-server runs there, not suspended, and that the address is reachable.";
  }
}

absl::Status NameShard(const absl::Status& status, uint32_t shard, const std::string& address) {
  wire::ErrorInfo error = wire::FromStatus(status);
  if (error.shard >= 0) return status;
  NameShard(error, shard, address);
  return wire::ToStatus(error);
}

absl::Status NotReached(const absl::Status& trouble, uint32_t shard, const std::string& address) {
  wire::ErrorInfo error = wire::FromStatus(trouble);
  if (error.shard >= 0) {
    absl::StrAppend(&error.message, " (and so until the deadline)");
    return wire::ToStatus(error);
  }
  const std::string cause = error.ok() ? "no answer" : error.message;
  return NameShard(wire::MakeError(wire::ErrorKind::kUnavailable,
                                   absl::StrCat("not reachable within the deadline (", cause, ")")),
                   shard, address);
}

absl::Status PushesCannotGoOn(wire::ErrorInfo cause) {
  if (cause.kind != wire::ErrorKind::kSessionLost) {
    cause.message = absl::StrCat("pushes cannot go on: ", cause.message);
    cause.kind = wire::ErrorKind::kSessionLost;
  }
  return wire::ToStatus(cause);
}

absl::Status CapacityFull(const wire::ErrorInfo& first, std::span<const Key> refused_keys) {
  absl::Status status = wire::ToStatus(first);
  status.SetPayload(kRefusedKeysUrl,
                    absl::Cord(absl::string_view(reinterpret_cast<const char*>(refused_keys.data()),
                                                 refused_keys.size_bytes())));
  return status;
}

bool IsTransient(wire::ErrorKind kind) {
  return kind == wire::ErrorKind::kUnavailable || kind == wire::ErrorKind::kOverloaded ||
         kind == wire::ErrorKind::kOutOfOrder || kind == wire::ErrorKind::kDeadlineExceeded;
}

}  // namespace client
}  // namespace hotrow
