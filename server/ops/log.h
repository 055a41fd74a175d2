// Sets up the process's log: stderr, text on a terminal and one JSON object per line elsewhere (see
// log_sink.h).
//
// Thread safety: call SetUpLog once, before threads start; spdlog's macros (SPDLOG_WARN ...), which
// say where a line comes from, and ReportLeftOutLines afterwards, from any thread. What is logged
// never contains keys, row values or tokens.

#pragma once

#include <cstdint>
#include <string>

namespace hotrow {

// `level`: debug, info, warn or error. `format`: auto, text or json.
void SetUpLog(const std::string& level, const std::string& format, uint32_t shard);

// Tells how many lines the limit has left out, where it allows a line again. To be called every few
// seconds.
void ReportLeftOutLines();
// The same, of all places: before the process ends.
void ReportAllLeftOutLines();

}  // namespace hotrow
