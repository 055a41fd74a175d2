// Sets up the process's log: stderr, text on a terminal and one JSON object per line elsewhere (see
// log_sink.h).
//
// Lines are written by a thread of the log (LogWriter): nobody waits for whoever reads stderr. What
// waits to be written when the process aborts is written first.
//
// Thread safety: call SetUpLog once, before other threads start; spdlog's macros (SPDLOG_WARN ...),
// which say where a line comes from, and the other functions afterwards, from any thread. What is
// logged never contains keys, row values or tokens.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hotrow {

// `level`: debug, info, warn or error. `format`: auto, text or json.
void SetUpLog(const std::string& level, const std::string& format, uint32_t shard);

// A line about what somebody did to the service, at any level and outside of the limit of lines.
// `fields` is an object (LogFields). The default logger's where SetUpLog was not called.
void LogAudit(const std::string& text, const nlohmann::json& fields);

// Tells how many lines the limit has left out, where it allows a line again. To be called every few
// seconds.
void ReportLeftOutLines();
// The same, of all places: before the process ends.
void ReportAllLeftOutLines();
// Returns when all lines are written, or after a second: before the process ends. Nothing is done
// before SetUpLog.
void FlushLog();
// Lines that found no room because those before them were not read.
uint64_t DroppedLogLines();

}  // namespace hotrow
