// Opening a cold store: its seal, RocksDB, and what it keeps of the shard.

#include <fmt/format.h>
#include <rocksdb/statistics.h>
#include <rocksdb/write_batch.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/tiers/cold_seal.h"
#include "server/tiers/cold_store_impl.h"

namespace hotrow {
namespace {

absl::Status Invalid(std::string message) {
  return wire::MakeError(wire::ErrorKind::kInvalidArgument, std::move(message));
}

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

absl::Status CheckOptions(const ColdOptions& options, int partition_bits) {
  if (options.path.empty()) return Invalid("the cold tier has no folder");
  if (options.disk_budget_bytes <= 0) return Invalid("the disk budget of the cold tier is 0");
  if (options.read_threads < 1) return Invalid("the cold tier has no thread that reads");
  if (partition_bits < 0 || partition_bits > kMaxPartitionBits) {
    return Invalid("the cold tier is asked for a number of partitions that no cluster has");
  }
  return absl::OkStatus();
}

}  // namespace

// The seal, which is broken before RocksDB changes a file.
absl::Status ColdStore::Impl::BreakSeal(ColdSeal* seal) {
  absl::StatusOr<ColdSeal> found = ReadColdSeal(options.path, partitions());
  if (!found.ok()) return found.status();
  *seal = *std::move(found);
  if (seal->partitions != partitions()) {
    return Invalid(
        fmt::format("{} holds the rows of {} partitions, and {} are asked for: the "
                    "number of partitions is fixed for the life of a cluster",
                    options.path, seal->partitions, partitions()));
  }
  if (absl::Status status = CheckManifest(options.path, *seal); !status.ok()) return status;
  if (seal->state == SealState::kOpen) return absl::OkStatus();
  const SealState next = seal->state == SealState::kNew ? SealState::kNew : SealState::kOpen;
  return WriteColdSeal(options.path, {.state = next, .partitions = partitions()});
}

absl::Status ColdStore::Impl::OpenRocksdb() {
  rocksdb::Status status;
  // A file system in memory has no direct reads.
  for (const bool direct : {true, false}) {
    rocksdb::Options database = RocksdbOptions(options, direct);
    statistics = database.statistics;
    rocksdb::DB* opened = nullptr;
    status = rocksdb::DB::Open(database, options.path, &opened);
    db.reset(opened);
    if (!status.IsInvalidArgument() && !status.IsNotSupported()) break;
  }
  return FromRocksdb(status, options, "opening the cold tier");
}

absl::Status ColdStore::Impl::Open() {
  std::error_code made;
  std::filesystem::create_directories(options.path, made);  // opening it says what went wrong
  ColdSeal seal;
  if (absl::Status status = BreakSeal(&seal); !status.ok()) return status;
  absl::Status status = OpenRocksdb();
  if (!status.ok()) {
    // Nothing was changed: the seal still holds.
    const bool whole = seal.state == SealState::kClosed && CheckManifest(options.path, seal).ok();
    if (whole) WriteColdSeal(options.path, seal).IgnoreError();
    return status;
  }
  status = LoadMeta(seal.state);
  if (!status.ok() || seal.state != SealState::kNew) return status;
  return WriteColdSeal(options.path, {.state = SealState::kOpen, .partitions = partitions()});
}

absl::Status ColdStore::Impl::LoadMeta(SealState state) {
  MutexLock lock(mutex);
  const std::unique_ptr<rocksdb::Iterator> entries(db->NewIterator(rocksdb::ReadOptions()));
  for (entries->Seek(MetaBegin()); entries->Valid(); entries->Next()) {
    if (meta.Read(View(entries->key()), View(entries->value()))) continue;
    return wire::MakeError(wire::ErrorKind::kDataLoss,
                           fmt::format("{} has an entry that cannot be read: it was written by "
                                       "another version, or it is damaged",
                                       options.path));
  }
  if (!entries->status().ok()) {
    return FromRocksdb(entries->status(), options, "reading the cold tier");
  }
  was_closed = state == SealState::kClosed || (state == SealState::kNew && meta.format == 0);
  if (meta.format == kColdFormat) return absl::OkStatus();
  if (meta.format != 0) {
    return wire::MakeError(wire::ErrorKind::kUnimplemented,
                           fmt::format("{} has format {}, and this version reads {}", options.path,
                                       meta.format, kColdFormat));
  }
  if (state != SealState::kNew) {
    return wire::MakeError(
        wire::ErrorKind::kDataLoss,
        fmt::format("{} has lost everything: its list of files is damaged", options.path));
  }
  rocksdb::WriteBatch batch;
  batch.Put(FormatKey(), NumberValue(kColdFormat));
  absl::Status status = WriteMeta(&batch);
  return status.ok() ? Sync() : status;
}

absl::StatusOr<std::unique_ptr<ColdStore>> ColdStore::Open(ColdOptions options,
                                                           int partition_bits) {
  if (absl::Status status = CheckOptions(options, partition_bits); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(std::move(options), partition_bits);
  if (absl::Status status = impl->Open(); !status.ok()) return status;
  return std::unique_ptr<ColdStore>(new ColdStore(std::move(impl)));
}

}  // namespace hotrow
