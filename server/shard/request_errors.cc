#include "server/shard/request_errors.h"

#include <fmt/format.h>

#include <utility>

namespace hotrow {
namespace {

constexpr uint32_t kRetryAfterMs = 50;

wire::ErrorInfo Make(wire::ErrorKind kind, std::string message, std::string hint) {
  wire::ErrorInfo error;
  error.kind = kind;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

}  // namespace

wire::ErrorInfo StaleMap(const wire::ShardMap& map) {
  return Make(wire::ErrorKind::kStaleMap,
              fmt::format("this shard goes by shard map version {} of timeline {}", map.version(),
                          map.timeline()),
              "fetch the shard map again");
}

wire::ErrorInfo NotOwned(const std::string& table) {
  wire::ErrorInfo error =
      Make(wire::ErrorKind::kStaleMap, "another shard owns the partition of a key",
           "fetch the shard map again");
  error.table = table;
  return error;
}

wire::ErrorInfo OtherLife() {
  return Make(wire::ErrorKind::kStaleMap, "the sub-push is meant for another life of this shard",
              "connect again; what the shard held before may be lost");
}

wire::ErrorInfo KeyOutOfRange(const TableOptions& table) {
  wire::ErrorInfo error = Make(
      wire::ErrorKind::kKeyRange,
      fmt::format("table '{}': a key is outside 0 .. {}", table.name, table.num_embeddings - 1),
      "check the keys against num_embeddings, or use an open table");
  error.table = table.name;
  return error;
}

wire::ErrorInfo DeadlinePassed() {
  return Make(wire::ErrorKind::kDeadlineExceeded,
              "the deadline passed before the request was taken up; nothing was changed",
              "give the call more time, or send less at once");
}

wire::ErrorInfo ScanExpired() {
  return Make(wire::ErrorKind::kDeadlineExceeded,
              "the scan was ended: it was idle and its place was needed", "start the scan again");
}

wire::ErrorInfo QueueFull() {
  wire::ErrorInfo error = Make(wire::ErrorKind::kOverloaded, "the shard's queue is full",
                               "try again later; send less at once");
  error.retry_after_ms = kRetryAfterMs;
  return error;
}

wire::ErrorInfo Draining() {
  wire::ErrorInfo error =
      Make(wire::ErrorKind::kUnavailable, "the shard is draining and takes no new work",
           "a drain is for good: start the shard's successor");
  error.retry_after_ms = kRetryAfterMs;
  return error;
}

}  // namespace hotrow
