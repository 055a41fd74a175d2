// DataDirectory: the directory that belongs to one shard of one cluster, and to one process at a
// time. A LOCK file is held for the life of the object; an IDENTITY file remembers whose it is.
//
// Thread safety: immutable once opened. Ownership: move-only; holds the lock. Errors:
// FailedPrecondition, naming both values, when the directory is another shard's or in use.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace hotrow {

struct ShardIdentity {
  std::string cluster_id;
  uint32_t shard = 0;
  uint32_t shards = 0;
  uint32_t partitions = 0;
};

class DataDirectory {
 public:
  // Creates the directory and its identity, or checks them.
  static absl::StatusOr<DataDirectory> Open(const std::string& path, const ShardIdentity& identity);
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&& other) noexcept;
  ~DataDirectory();

 private:
  explicit DataDirectory(int lock) : lock_(lock) {}

  int lock_ = -1;
};

}  // namespace hotrow
