// The command line of hotrow-server: all configuration sources put together.
//
// Thread safety: call once, from main. Errors: InvalidArgument, one line.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/ops/config.h"

namespace hotrow {

struct CommandLine {
  ServerConfig config;
  // Set: print this and end with success (--help, --version, --print-config, --check-config).
  std::optional<std::string> answer;
};

// `arguments` without the program's name; `environment`: "NAME=value".
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& environment);

}  // namespace hotrow
