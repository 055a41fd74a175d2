// ConnectionCounts: connections of clients, for the metrics.
//
// Thread safety: a value.

#pragma once

#include <cstdint>

namespace hotrow {

struct ConnectionCounts {
  int64_t open = 0;
  int64_t limit = 0;      // that may be open at a time
  uint64_t accepted = 0;  // ever
  uint64_t refused = 0;   // ever, because the limit was met
};

}  // namespace hotrow
