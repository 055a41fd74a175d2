#include "client/src/validate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

// gRPC would dial port 0 or 443 of an address without one, and say nothing useful.
bool NamesAPort(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return address.size() > 5;
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  // An IPv6 address needs brackets.
  if (address.find(':') != colon && (address[0] != '[' || address[colon - 1] != ']')) return false;
  uint32_t port = 0;
  return absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port < 65536;
}

}  // namespace

absl::Status ValidateOptions(const ConnectOptions& options) {
  if (options.addresses.empty()) {
    return InvalidInput("", "no address given", "Pass HOST:PORT or unix:PATH of any shard.");
  }
  for (const std::string& address : options.addresses) {
    if (NamesAPort(address)) continue;
    return InvalidInput("", absl::StrCat("'", address, "' is not HOST:PORT or unix:PATH"),
                        "Servers listen on port 7070 unless told otherwise.");
  }
  if (std::min(options.timeout.value_or(options.patience), options.patience).count() <= 0) {
    return InvalidInput("", "the timeout is not positive", "Give more than 0.");
  }
  if (options.keepalive < std::chrono::seconds(1)) {
    return InvalidInput("", "keepalive is below 1 s", "Give 1 s or more.");
  }
  if (options.recovery_timeout.count() <= 0) {
    return InvalidInput("", "recovery_timeout is not positive", "Give more than 0.");
  }
  if (options.job.size() > 128) {
    return InvalidInput("", "job is longer than 128 bytes", "Give a shorter name.");
  }
  if (options.rank >= options.world_size) {
    return InvalidInput(
        "", absl::StrCat("rank ", options.rank, " is not below world_size ", options.world_size),
        "Ranks count from 0.");
  }
  if (options.max_in_flight_bytes <= 0) {
    return InvalidInput("", "max_in_flight_bytes is not positive", "Leave it out for the default.");
  }
  return absl::OkStatus();
}

absl::Status ValidateKeys(const TableSchema& schema, std::span<const Key> keys,
                          std::optional<Key> skip) {
  if (keys.size() >= static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidInput(schema.name,
                        absl::StrCat("table '", schema.name, "': ", keys.size(),
                                     " keys in one call, 2^31 - 1 are too many"),
                        "Cut the call into several.");
  }
  if (schema.num_embeddings == 0) return absl::OkStatus();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] < schema.num_embeddings || keys[i] == skip) continue;
    return wire::ToStatus(
        {.kind = wire::ErrorKind::kKeyRange,
         .message = absl::StrCat("table '", schema.name, "': key ", static_cast<int64_t>(keys[i]),
                                 " at position ", i, " is not in 0 .. ", schema.num_embeddings - 1),
         .hint = "Keys are never wrapped or clamped; an open table takes any 64-bit key.",
         .table = schema.name});
  }
  return absl::OkStatus();
}

absl::Status ValidateRows(const TableSchema& schema, size_t keys, size_t values) {
  if (values == keys * static_cast<size_t>(schema.dim)) return absl::OkStatus();
  return InvalidInput(schema.name,
                      absl::StrCat("table '", schema.name, "': ", values, " values given for ",
                                   keys, " keys of dim ", schema.dim),
                      "Give one row for each key, in the order of the keys.");
}

absl::Status ValidateStep(const TableSchema& schema, const PushOptions& options) {
  if (options.step.has_value() && (*options.step < 1 || *options.step > wire::kMaxStep)) {
    return InvalidInput(
        schema.name,
        absl::StrCat("table '", schema.name, "': step ", *options.step, " is not in 1 .. 2^53"),
        "Count training steps from 1, or leave the step out.");
  }
  const float lr = options.learning_rate.value_or(0.0F);
  if (!(lr >= 0 && lr <= wire::kMaxLearningRate)) {
    return InvalidInput(
        schema.name,
        absl::StrCat("table '", schema.name, "': the learning rate ", lr, " is not in 0 .. 1e15"),
        "Check what sets the rate, such as a scheduler.");
  }
  return absl::OkStatus();
}

}  // namespace hotrow::client
