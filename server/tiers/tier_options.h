// What a shard says of its cold tier.
//
// Thread safety: values.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace hotrow {

struct ColdOptions {
  std::string path;                          // a folder of its own; made when it is not there
  int64_t disk_budget_bytes = 0;             // > 0; of all files
  int64_t memory_bytes = int64_t{64} << 20;  // write buffers, table readers and filters
  int read_threads = 8;
  int64_t reserve_bytes = int64_t{64} << 20;  // of the file system that stay free
  std::function<int64_t()> free_bytes;        // of the file system; null: it is asked
};

struct WriteBehindOptions {
  int64_t max_bytes = int64_t{64} << 20;
  int64_t chunk_bytes = int64_t{4} << 20;        // a chunk is written when it has so much
  std::chrono::milliseconds longest_wait{5000};  // of MakeRoom for one that fails or is slow
  std::chrono::milliseconds retry_pause{200};
  // A chunk that fills slowly is written after so long all the same.
  std::chrono::milliseconds chunk_age{1000};
};

}  // namespace hotrow
