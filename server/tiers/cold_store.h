// ColdStore: the rows of a shard that rest on disk, all tables together, in one RocksDB.
//
//   key    partition (u16, big-endian) | table id (u32, big-endian) | row key (u64, big-endian)
//   value  score (u32) | record (RowLayout) | checksum (u64)                    little-endian
//
// so that a partition is a range, and a table within it one too. The checksum (XXH3, 64 bits) goes
// over key and value: a row that lies under another's key is damage too. Partition 0xffff holds
// what is known of the shard itself: tables, numbers of rows and LSNs.
//
// RocksDB's own log is off and there is one column family: after a crash the store opens at a
// prefix of what was written, at the last flush, with counts and LSNs of that moment.
//
// Beside it lies a seal (cold_seal.h): a folder that has lost files is not taken for a new store.
//
// Thread safety: every method, from any thread; rows of one partition are written by one thread at
// a time, and Close comes after every write. Ownership: owns the database and its threads. Bounds:
// memory as ColdOptions say; a lookup is cut into pieces that at most `read_threads` threads read.
// Errors: kDataLoss names table and folder, and is never taken for "not there"; kUnavailable when
// the disk fails, and from the first write that failed until writing is possible again.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/key.h"
#include "server/tiers/cold_table.h"
#include "server/tiers/tier.h"
#include "server/tiers/tier_options.h"
#include "server/tiers/write_chunk.h"

namespace hotrow {

struct ColdStats {
  int64_t live_bytes = 0;    // of files that hold rows
  int64_t disk_bytes = 0;    // of all files
  int64_t memory_bytes = 0;  // write buffers, table readers, block cache
  int64_t pending_compaction_bytes = 0;
  bool stopped = false;    // writes wait for compaction
  uint64_t rows_read = 0;  // since the process started
  uint64_t rows_written = 0;
  uint64_t bytes_written = 0;  // of rows, as they were handed in
  uint64_t bytes_flushed = 0;  // by flushes, ingested files and compactions
  uint64_t read_errors = 0;
  uint64_t write_errors = 0;
  uint64_t damaged_rows = 0;
};

class ColdStore {
 public:
  // kUnavailable when another process has the folder, kDataLoss when it cannot be read or files are
  // missing, kInvalidArgument for options that contradict each other, or what the folder holds.
  static absl::StatusOr<std::unique_ptr<ColdStore>> Open(ColdOptions options, int partition_bits);
  ~ColdStore();  // as a crash would: what was not flushed is lost. Close() first.
  ColdStore(const ColdStore&) = delete;
  ColdStore& operator=(const ColdStore&) = delete;

  // False when what is there was not closed with Close(): it is that of the last flush.
  bool was_closed() const;

  // Finds rows as Tier::Find does. Keys may belong to any partitions.
  absl::Status Find(const ColdTable& table, const RowTargets& rows, std::span<uint8_t> found);
  // Writes the chunk in one piece, with the counts and LSNs that follow from it.
  absl::Status Write(const WriteChunk& chunk);
  // Whether new rows may be added: neither the disk budget nor the file system is near its end.
  // The text says which is. Known rows may always be written again.
  absl::Status HasRoom() const;
  // Puts all that was written on disk (fsync).
  absl::Status Flush();
  // Flush, and the seal that everything is there. Nothing may be written afterwards.
  absl::Status Close();

  // Stored rows of a table in a partition, as of the last Write.
  int64_t Rows(uint32_t table, uint32_t partition) const;
  // Of the last mutation of a partition that was written here, or told to SetLsn.
  uint64_t Lsn(uint32_t partition) const;
  // Written with the next chunk of the partition or the next Flush.
  void SetLsn(uint32_t partition, uint64_t lsn);

  // Facts that the shard keeps beside the rows, such as the schemas of its tables: a small value of
  // any bytes under a name of at most 256. Durable on return.
  absl::Status PutFact(const std::string& name, const std::string& value);
  absl::Status RemoveFact(const std::string& name);
  absl::StatusOr<std::map<std::string, std::string>> Facts(const std::string& prefix) const;

  // Removes all rows of a table and its counts, and those that are still to be written with them.
  // Durable on return. Their space comes back soon, not at once.
  absl::Status DropTable(const ColdTable& table);

  // The rows of a table in the given partitions, in order of partition and key, as of this call.
  absl::StatusOr<std::unique_ptr<RowRange>> Scan(const ColdTable& table,
                                                 std::vector<uint32_t> partitions) const;
  // Reads everything and compares the checksums of all blocks and rows.
  absl::Status Verify() const;

  ColdStats Stats() const;

  struct Impl;  // for its own source files

 private:
  explicit ColdStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace hotrow
