// The inside of ColdStore, shared by its source files.
//
// Thread safety: what is not constant is atomic or guarded.

#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "kernels/base/mutex.h"
#include "server/runtime/thread_pool.h"
#include "server/tiers/cold_meta.h"
#include "server/tiers/cold_seal.h"
#include "server/tiers/cold_store.h"

namespace hotrow {

// `direct` reads bypass the page cache.
rocksdb::Options RocksdbOptions(const ColdOptions& options, bool direct);

// Damage becomes kDataLoss, everything else kUnavailable; `what` says what was tried.
absl::Status FromRocksdb(const rocksdb::Status& status, const ColdOptions& options,
                         const std::string& what);
// A stored row of `table` cannot be read.
absl::Status DamagedRow(const ColdOptions& options, const ColdTable& table,
                        const std::string& cause);

struct ColdStore::Impl {
  Impl(ColdOptions cold_options, int bits)
      : options(std::move(cold_options)),
        partition_bits(bits),
        readers(options.read_threads, kMaxWaitingReads) {
    MutexLock lock(mutex);
    meta.lsns.resize(size_t{1} << bits, 0);
  }

  static constexpr size_t kMaxWaitingReads = 4096;

  absl::Status Open();
  absl::Status BreakSeal(ColdSeal* seal);
  absl::Status OpenRocksdb();
  // What is known of the shard.
  absl::Status LoadMeta(SealState state);

  // What a write needs of the file system: room for its bytes, beside `spare` that stay free.
  struct Need {
    int64_t bytes = 0;
    int64_t spare = 0;
  };
  absl::Status CheckSpace(const Need& need) const;
  absl::Status FreeSpace(int64_t* bytes) const;

  // Everything that writes goes through here; `what` says what is tried.
  absl::Status Attempt(const Need& need, const std::string& what,
                       absl::FunctionRef<rocksdb::Status()> attempt);
  // Small things, which may use the reserve: it is there so that a store can be closed, and tables
  // dropped, when the disk is full.
  absl::Status WriteMeta(rocksdb::WriteBatch* batch) { return WriteBatch(batch, 0); }
  absl::Status WriteBatch(rocksdb::WriteBatch* batch, int64_t spare);
  absl::Status WriteSetLsns() HOTROW_REQUIRES(write_mutex);
  absl::Status Sync();

  uint32_t partitions() const { return uint32_t{1} << partition_bits; }
  int64_t Property(const std::string& name) const;

  const ColdOptions options;
  const int partition_bits;
  std::unique_ptr<rocksdb::DB> db;
  std::shared_ptr<rocksdb::Statistics> statistics;
  bool was_closed = true;  // constant once opened

  // Held while a chunk is written or a table is dropped, by writer threads only: a chunk that was
  // under way would bring rows of the table back.
  Mutex write_mutex;
  absl::flat_hash_set<uint32_t> dropped HOTROW_GUARDED_BY(write_mutex);  // of this process life

  mutable Mutex mutex;
  ColdMeta meta HOTROW_GUARDED_BY(mutex);
  // Partitions whose LSN in `meta` is not written yet.
  absl::flat_hash_set<uint32_t> set_lsns HOTROW_GUARDED_BY(mutex);
  // What HasRoom said last.
  mutable std::chrono::steady_clock::time_point room_asked HOTROW_GUARDED_BY(mutex);
  mutable absl::Status room HOTROW_GUARDED_BY(mutex);

  // Relaxed: counts order nothing.
  std::atomic<uint64_t> rows_read{0};
  std::atomic<uint64_t> rows_written{0};
  std::atomic<uint64_t> bytes_written{0};
  std::atomic<uint64_t> read_errors{0};
  std::atomic<uint64_t> write_errors{0};
  std::atomic<uint64_t> damaged_rows{0};

  ThreadPool readers;  // last: its threads use the others
};

}  // namespace hotrow
