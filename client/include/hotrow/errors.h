// What an absl::Status of this library says beyond its code and message.
//
// Thread safety: pure functions. Ownership: results are values. A status that did not come from
// this library is described by its code and message alone.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/key.h"

namespace hotrow {

// Finer than a status code; bindings raise one exception class per kind. Numbers up to 17 are those
// of hotrow.v1.ErrorKind, numbers from 64 on arise in the client only.
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
  kForkedProcess = 64,  // the client was made by a parent of this process
  kClosed = 65,         // Close() was called
};

// Everything that a status says, for messages and for bindings.
struct ErrorDetails {
  ErrorKind kind = ErrorKind::kNone;  // kNone for an OK status
  std::string message;
  std::string hint;             // what to do next, may be empty
  std::string table;            // table name, may be empty
  int32_t shard = -1;           // shard number, -1: raised by the client
  uint32_t retry_after_ms = 0;  // 0: no advice
};

// Of a status that is OK: kind kNone and nothing else.
ErrorDetails DescribeError(const absl::Status& status);

// Keys that a push could not create, of all shards. Empty unless the kind is kCapacityFull.
std::vector<Key> RefusedKeys(const absl::Status& status);

}  // namespace hotrow
