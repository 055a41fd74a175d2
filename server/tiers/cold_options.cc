// How RocksDB is set up for whole rows that are read one by one and written in batches.

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/universal_compaction.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>

#include "proto/wire/status_codec.h"
#include "server/tiers/cold_store_impl.h"

namespace hotrow {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int kWriteBuffers = 4;
constexpr int kSlowdownFiles = 32;
constexpr int kStopFiles = 64;
constexpr double kFilterBits = 10;

rocksdb::BlockBasedTableOptions TableOptionsFor(int64_t cache_bytes) {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 4096;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBits));
  table.whole_key_filtering = true;
  table.format_version = 5;
  table.checksum = rocksdb::kXXH3;
  // Filters and indexes are counted in the cache, and stay in it before blocks of rows: the tier
  // above is the cache of rows.
  rocksdb::LRUCacheOptions cache;
  cache.capacity = static_cast<size_t>(cache_bytes);
  cache.high_pri_pool_ratio = 0.9;
  table.block_cache = rocksdb::NewLRUCache(cache);
  // Of a table 100 times the size of memory, filters and indexes alone are larger than the cache:
  // they are cached in pieces.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_top_level_index_and_filter = true;
  return table;
}

// What RocksDB has to say, in the server's log. With a LOG file of its own it ends the process when
// that file cannot grow: a full disk would be the end of a server that could go on reading. A disk
// that fails is reported again and again: once in a while will do.
class ServerLog final : public rocksdb::Logger {
 public:
  ServerLog() : Logger(rocksdb::WARN_LEVEL) {}
  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch() / kOnceIn;
    if (last_.exchange(now, std::memory_order_relaxed) == now) return;
    std::array<char, 512> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    SPDLOG_WARN("RocksDB: {}", text.data());
  }

 private:
  static constexpr std::chrono::seconds kOnceIn{1};
  std::atomic<int64_t> last_{0};  // relaxed: orders nothing
};

// Write amplification under write-back of skewed rows: see bench/RESULTS.md (P11).
void SetCompaction(rocksdb::Options* options) {
  options->compaction_style = rocksdb::kCompactionStyleUniversal;
  options->compaction_options_universal.max_size_amplification_percent = 100;
  options->level0_file_num_compaction_trigger = 8;
  options->level0_slowdown_writes_trigger = kSlowdownFiles;
  options->level0_stop_writes_trigger = kStopFiles;
}

}  // namespace

rocksdb::Options RocksdbOptions(const ColdOptions& cold, bool direct) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size =
      static_cast<size_t>(std::max(cold.memory_bytes / 2 / kWriteBuffers, kMiB));
  options.max_write_buffer_number = kWriteBuffers;
  options.max_background_jobs = 2;
  options.avoid_flush_during_shutdown = true;  // Close() has flushed, or this is no clean end
  options.use_direct_reads = direct;
  options.use_direct_io_for_flush_and_compaction = direct;
  options.bytes_per_sync = kMiB;
  options.info_log = std::make_shared<ServerLog>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_open_files = 512;
  options.statistics = rocksdb::CreateDBStatistics();
  options.statistics->set_stats_level(rocksdb::kExceptHistogramOrTimers);
  // Rows of a file system that fills up are refused before (CheckSpace); what fails all the same
  // is tried again by us.
  options.max_bgerror_resume_count = 0;
  SetCompaction(&options);
  options.table_factory.reset(
      rocksdb::NewBlockBasedTableFactory(TableOptionsFor(std::max(cold.memory_bytes / 2, kMiB))));
  return options;
}

absl::Status FromRocksdb(const rocksdb::Status& status, const ColdOptions& options,
                         const std::string& what) {
  if (status.ok()) return absl::OkStatus();
  wire::ErrorInfo error;
  error.message = fmt::format("{} in {}: {}", what, options.path, status.ToString());
  if (status.IsCorruption()) {
    error.kind = wire::ErrorKind::kDataLoss;
    error.hint = "files on the shard's disk are damaged: restore its data directory from a copy";
  } else {
    error.kind = wire::ErrorKind::kUnavailable;
    error.hint = "look at the shard's disk: space, health, permissions";
  }
  return wire::ToStatus(error);
}

absl::Status DamagedRow(const ColdOptions& options, const ColdTable& table,
                        const std::string& cause) {
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kDataLoss,
       .message = fmt::format("table '{}': a row on disk is damaged, in {}: {}", table.name,
                              options.path, cause),
       .hint = "restore the shard's data directory from a copy, or remove or upsert the row",
       .table = table.name});
}

}  // namespace hotrow
