// Pushes of several clients and threads through a MessageProxy before each shard, and what became
// of them.
//
// Thread safety: one call at a time. Ownership: starts its servers and ends them. Errors: in the
// report; a run that broke too little, or went too slowly to mean anything, is void.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/fault/faulty_pipe.h"
#include "tests/fault/push_oracle.h"

namespace hotrow::testing {

struct PushRunOptions {
  int64_t pushes = 5000;
  uint64_t seed = 1;
  FaultRates rates{.drop = 0.05, .duplicate = 0.05, .reorder = 0.06};
  int shards = 2;
  int clients = 3;
  int threads = 2;  // of each client
};

// Of the messages of one direction.
struct FaultShares {
  double dropped = 0.0;
  double duplicated = 0.0;
  double reordered = 0.0;

  double smallest() const { return std::min({dropped, duplicated, reordered}); }
};

struct PushRunReport {
  PushOracle::Verdict verdict;
  int64_t failed_pushes = 0;  // that raised
  std::string first_error;
  int64_t wrong_counts = 0;  // pushes whose answer did not count each of their keys once
  int64_t rows_created = 0;  // by all answers
  double pushes_a_second = 0.0;
  FaultShares requests;
  FaultShares replies;
  int64_t cuts = 0;
  uint64_t duplicates = 0;  // sub-pushes that the servers knew already
  std::string text;         // all of it, for a reader

  // Too kind or too slow to mean anything.
  bool is_void() const {
    return std::min(requests.smallest(), replies.smallest()) < 0.04 || pushes_a_second < 50.0;
  }
};

PushRunReport RunPushes(const PushRunOptions& options);

}  // namespace hotrow::testing
