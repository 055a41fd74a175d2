// Candidates of a comparison that take turns within one process, and the lines that tell
// bench/harness.py what came out:
//
//   {"candidate": name, "case": name, "values": [one figure a counted round]}
//
// Thread safety: one thread. A call that fails ends the program: a figure of failed calls would be
// no figure.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/timing.h"

namespace hotrow::bench {

struct Candidate {
  std::string name;
  std::function<bool(int64_t rows)> call;  // one request and its reply
};

struct Rounds {
  int counted = 7;
  int calls = 100;     // of each candidate a round
  int warm_calls = 0;  // before them, not timed: the candidate was idle while the others ran
};

// Seconds of one round's calls.
using RoundSeconds = std::vector<double>;

inline RoundSeconds RunRound(const Candidate& candidate, int64_t rows, const Rounds& rounds) {
  RoundSeconds seconds;
  for (int i = -rounds.warm_calls; i < rounds.calls; ++i) {
    const double start = WallSeconds();
    if (!candidate.call(rows)) {
      std::fprintf(stderr, "%s: a call failed\n", candidate.name.c_str());
      std::exit(1);
    }
    if (i >= 0) seconds.push_back(WallSeconds() - start);
  }
  return seconds;
}

// Hands the seconds of each counted round to counted(candidate, seconds). The first round warms up
// and is not counted.
inline void Interleave(const std::vector<Candidate>& candidates, int64_t rows, const Rounds& rounds,
                       const std::function<void(size_t, const RoundSeconds&)>& counted) {
  for (int round = 0; round <= rounds.counted; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const RoundSeconds seconds = RunRound(candidates[i], rows, rounds);
      if (round > 0) counted(i, seconds);
    }
  }
}

inline void PrintValues(const std::string& candidate, const std::string& name,
                        const std::vector<double>& values) {
  std::printf(R"({"candidate": "%s", "case": "%s", "values": [)", candidate.c_str(), name.c_str());
  for (size_t i = 0; i < values.size(); ++i) std::printf("%s%.9g", i == 0 ? "" : ", ", values[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

}  // namespace hotrow::bench
