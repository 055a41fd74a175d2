// Sets up the process's log: stderr, text on a terminal and one JSON object per line elsewhere
// (ts in RFC 3339 UTC, level, msg, shard). Repeats of a line within a second are counted, not
// written.
//
// Thread safety: call SetUpLog once, before threads start; spdlog's functions afterwards, from any
// thread. What is logged never contains row values.

#pragma once

#include <cstdint>
#include <string>

namespace hotrow {

// `level`: debug, info, warn or error. `format`: auto, text or json.
void SetUpLog(const std::string& level, const std::string& format, uint32_t shard);

// The line that the JSON format makes of a message: for tests.
std::string JsonEscaped(const std::string& text);

}  // namespace hotrow
