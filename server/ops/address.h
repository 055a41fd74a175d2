// HOST:PORT addresses: "127.0.0.1:7070", "[::1]:7070", "shard-0.hotrow:7070".
//
// Thread safety: pure functions. Errors: InvalidArgument that quotes the text.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace hotrow {

struct Address {
  std::string host;  // without brackets
  uint16_t port = 0;

  // Whether only this machine can reach it: 127.0.0.0/8, ::1 or localhost.
  bool IsLoopback() const;
  std::string ToString() const;
};

absl::StatusOr<Address> ParseAddress(const std::string& text);

}  // namespace hotrow
