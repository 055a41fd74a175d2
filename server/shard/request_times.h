// RequestTimes: when a pull or a push went from one stage to the next inside of a shard.
//
// Thread safety: a value; written while a request is worked on, read once it is finished.

#pragma once

#include <chrono>

namespace hotrow {

struct RequestTimes {
  using TimePoint = std::chrono::steady_clock::time_point;

  TimePoint shared_out;  // over the strands
  TimePoint taken_up;    // by the first strand
  TimePoint worked;      // by the last strand

  bool complete() const { return worked != TimePoint(); }
};

}  // namespace hotrow
