// LogLimit: how many lines one place in the code may log. Each place has a bucket of tokens, a line
// takes one, and they come back with time; so the bound holds for lines that differ in a number or
// a name as well.
//
// Thread safety: one thread at a time. Ownership: holds the last line that each place was refused,
// up to kKeptBytes. Bounds: kMaxPlaces places have buckets of their own, later ones share one; so
// all of them together log kBurst x kMaxPlaces lines at once, and kMaxPlaces a second from then on.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hotrow {

// Where a line comes from. Two are the same when they are of one line of one file.
struct LogPlace {
  const char* file = nullptr;  // lives for ever; null: unknown
  int line = 0;

  bool operator<(const LogPlace& other) const {
    return std::pair(file, line) < std::pair(other.file, other.line);
  }
};

struct LogLine {
  int level = 0;
  std::string text;
  std::string fields;  // LogFields
};

// A line to be written, and how many of its place were not since the last one that was.
struct AllowedLine {
  LogLine line;
  uint64_t left_out = 0;
};

class LogLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr double kBurst = 10;
  static constexpr double kLinesPerSecond = 1;
  static constexpr size_t kMaxPlaces = 256;
  static constexpr size_t kKeptBytes = 2048;

  enum class Which : uint8_t { kAllowed, kAll };

  // Nothing when the line is to be left out.
  std::optional<AllowedLine> Take(const LogPlace& place, LogLine line, Time now);
  // The last line that each place left out, of the places that have a token again (or of all of
  // them). To be called now and then, so that the end of a flood is told too.
  std::vector<AllowedLine> TakeLeftOut(Which which, Time now);

 private:
  struct Bucket {
    double tokens = kBurst;
    Time filled{};
    uint64_t left_out = 0;
    LogLine last;  // of those left out
  };
  static void Refill(Bucket& bucket, Time now);

  std::map<LogPlace, Bucket> buckets_;
};

}  // namespace hotrow
