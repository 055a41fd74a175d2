// Sizes and durations as people write them: "4GiB", "1.5GB", "250ms", "10s".
//
// Thread safety: pure functions. Units: bytes; milliseconds. Errors: InvalidArgument that quotes
// the text and shows an example.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace hotrow {

// A number with an optional B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024).
absl::StatusOr<int64_t> ParseSize(const std::string& text);
// The largest binary unit that loses nothing: 1536 -> "1536", 2048 -> "2KiB".
std::string FormatSize(int64_t bytes);

// A number with ms, s, m or h; "0" needs no unit.
absl::StatusOr<std::chrono::milliseconds> ParseDuration(const std::string& text);
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace hotrow
