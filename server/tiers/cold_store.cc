#include "server/tiers/cold_store.h"

#include <rocksdb/convenience.h>
#include <rocksdb/statistics.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/tiers/cold_record.h"
#include "server/tiers/cold_seal.h"
#include "server/tiers/cold_store_impl.h"

namespace hotrow {
namespace {

constexpr size_t kLongestFactName = 256;

absl::Status Invalid(std::string message) {
  return wire::MakeError(wire::ErrorKind::kInvalidArgument, std::move(message));
}

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

rocksdb::WriteOptions WithoutLog() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

}  // namespace

ColdStore::ColdStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ColdStore::~ColdStore() {
  impl_->readers.Stop();
  rocksdb::CancelAllBackgroundWork(impl_->db.get(), /*wait=*/true);
}

bool ColdStore::was_closed() const { return impl_->was_closed; }

int64_t ColdStore::Impl::Property(const std::string& name) const {
  uint64_t value = 0;
  return db->GetIntProperty(name, &value) ? static_cast<int64_t>(value) : 0;
}

absl::Status ColdStore::Impl::Attempt(const Need& need, const std::string& what,
                                      absl::FunctionRef<rocksdb::Status()> attempt) {
  absl::Status result = CheckSpace(need);
  if (result.ok()) {
    rocksdb::Status status = attempt();
    // After a failure RocksDB refuses to write, with the text of that failure, until it is told to
    // go on; after one for want of space, until it has seen for itself that there is some, within
    // five seconds.
    if (!status.ok() && db->Resume().ok()) status = attempt();
    result = FromRocksdb(status, options, what);
  }
  if (!result.ok()) write_errors.fetch_add(1, std::memory_order_relaxed);
  return result;
}

absl::Status ColdStore::Impl::WriteBatch(rocksdb::WriteBatch* batch, int64_t spare) {
  return Attempt({static_cast<int64_t>(batch->GetDataSize()), spare}, "writing the cold tier",
                 [&] { return db->Write(WithoutLog(), batch); });
}

absl::Status ColdStore::Write(const WriteChunk& chunk) {
  MutexLock writing(impl_->write_mutex);
  rocksdb::WriteBatch batch(chunk.bytes() + chunk.entries().size() * 32);
  absl::flat_hash_map<uint64_t, int64_t> rows;  // changes
  absl::flat_hash_map<uint16_t, uint64_t> lsns;
  std::string value;
  for (const WriteChunk::Entry& entry : chunk.entries()) {
    if (impl_->dropped.contains(entry.table)) continue;
    const ColdKey key = EncodeColdKey(entry.partition, entry.table, entry.key);
    const rocksdb::Slice slice(key.data(), key.size());
    if (entry.removed) {
      batch.Delete(slice);
    } else {
      EncodeColdValue(View(slice), entry.score,
                      {chunk.record(entry), static_cast<size_t>(entry.row_bytes)}, &value);
      batch.Put(slice, value);
    }
    if (entry.row_delta != 0)
      rows[ColdMeta::Place(entry.table, entry.partition)] += entry.row_delta;
    uint64_t& lsn = lsns[entry.partition];
    lsn = std::max(lsn, entry.lsn);
  }
  {
    MutexLock lock(impl_->mutex);
    for (auto& [place, count] : rows) {
      count += impl_->meta.rows[place];
      batch.Put(RowsKey(static_cast<uint32_t>(place >> 16), static_cast<uint16_t>(place)),
                NumberValue(count));
    }
    for (auto& [partition, lsn] : lsns) {
      lsn = std::max(lsn, impl_->meta.lsns[partition]);
      batch.Put(LsnKey(partition), NumberValue(lsn));
    }
  }
  // Half of the reserve is for compactions that are under way.
  absl::Status status = impl_->WriteBatch(&batch, impl_->options.reserve_bytes / 2);
  if (!status.ok()) return status;
  impl_->rows_written.fetch_add(chunk.entries().size(), std::memory_order_relaxed);
  impl_->bytes_written.fetch_add(static_cast<uint64_t>(chunk.bytes()), std::memory_order_relaxed);
  MutexLock lock(impl_->mutex);
  for (const auto& [place, count] : rows) impl_->meta.rows[place] = count;
  for (const auto& [partition, lsn] : lsns) impl_->meta.lsns[partition] = lsn;
  return absl::OkStatus();
}

// LSNs that no chunk has brought. No chunk is under way: it could bring a newer one.
absl::Status ColdStore::Impl::WriteSetLsns() {
  absl::flat_hash_set<uint32_t> partitions;
  rocksdb::WriteBatch batch;
  {
    MutexLock lock(mutex);
    partitions.swap(set_lsns);
    for (const uint32_t partition : partitions) {
      batch.Put(LsnKey(static_cast<uint16_t>(partition)), NumberValue(meta.lsns[partition]));
    }
  }
  if (partitions.empty()) return absl::OkStatus();
  absl::Status status = WriteMeta(&batch);
  MutexLock lock(mutex);
  if (!status.ok()) set_lsns.insert(partitions.begin(), partitions.end());
  return status;
}

absl::Status ColdStore::Impl::Sync() {
  return Attempt({}, "flushing the cold tier", [&] { return db->Flush(rocksdb::FlushOptions()); });
}

absl::Status ColdStore::Flush() {
  {
    MutexLock writing(impl_->write_mutex);
    if (absl::Status status = impl_->WriteSetLsns(); !status.ok()) return status;
  }
  return impl_->Sync();
}

absl::Status ColdStore::Close() {
  if (absl::Status status = Flush(); !status.ok()) return status;
  // Compactions would go on to change what is put under seal.
  rocksdb::CancelAllBackgroundWork(impl_->db.get(), /*wait=*/true);
  const absl::StatusOr<ManifestPrint> manifest = PrintOfManifest(impl_->options.path);
  if (!manifest.ok()) return manifest.status();
  return WriteColdSeal(
      impl_->options.path,
      {.state = SealState::kClosed, .partitions = impl_->partitions(), .manifest = *manifest});
}

int64_t ColdStore::Rows(uint32_t table, uint32_t partition) const {
  MutexLock lock(impl_->mutex);
  const auto found = impl_->meta.rows.find(ColdMeta::Place(table, partition));
  return found == impl_->meta.rows.end() ? 0 : found->second;
}

uint64_t ColdStore::Lsn(uint32_t partition) const {
  MutexLock lock(impl_->mutex);
  return impl_->meta.lsns[partition];
}

void ColdStore::SetLsn(uint32_t partition, uint64_t lsn) {
  MutexLock lock(impl_->mutex);
  if (lsn <= impl_->meta.lsns[partition]) return;
  impl_->meta.lsns[partition] = lsn;
  impl_->set_lsns.insert(partition);
}

absl::Status ColdStore::PutFact(const std::string& name, const std::string& value) {
  if (name.empty() || name.size() > kLongestFactName) return Invalid("a fact needs a short name");
  rocksdb::WriteBatch batch;
  batch.Put(FactKey(name), value);
  absl::Status status = impl_->WriteMeta(&batch);
  return status.ok() ? Flush() : status;
}

absl::Status ColdStore::RemoveFact(const std::string& name) {
  rocksdb::WriteBatch batch;
  batch.Delete(FactKey(name));
  absl::Status status = impl_->WriteMeta(&batch);
  return status.ok() ? Flush() : status;
}

absl::StatusOr<std::map<std::string, std::string>> ColdStore::Facts(
    const std::string& prefix) const {
  std::map<std::string, std::string> facts;
  const std::string begin = FactKey(prefix);
  const size_t name_at = FactKey("").size();
  const std::unique_ptr<rocksdb::Iterator> entries(impl_->db->NewIterator(rocksdb::ReadOptions()));
  for (entries->Seek(begin); entries->Valid() && entries->key().starts_with(begin);
       entries->Next()) {
    facts.emplace(View(entries->key()).substr(name_at), entries->value().ToString());
  }
  if (!entries->status().ok()) {
    return FromRocksdb(entries->status(), impl_->options, "reading the cold tier");
  }
  return facts;
}

absl::Status ColdStore::DropTable(const ColdTable& table) {
  const auto partitions = static_cast<uint16_t>(impl_->partitions());
  MutexLock writing(impl_->write_mutex);
  rocksdb::WriteBatch batch;
  for (uint16_t partition = 0; partition < partitions; ++partition) {
    batch.DeleteRange(ColdPrefix(partition, table.id), ColdPrefixEnd(partition, table.id));
    batch.Delete(RowsKey(table.id, partition));
  }
  if (absl::Status status = impl_->WriteMeta(&batch); !status.ok()) return status;
  impl_->dropped.insert(table.id);
  {
    MutexLock lock(impl_->mutex);
    for (uint32_t partition = 0; partition < partitions; ++partition) {
      impl_->meta.rows.erase(ColdMeta::Place(table.id, partition));
    }
  }
  if (absl::Status status = impl_->Sync(); !status.ok()) return status;
  // Whole files of the table go at once; the rest goes with the next compactions.
  for (uint16_t partition = 0; partition < partitions; ++partition) {
    const std::string begin = ColdPrefix(partition, table.id);
    const std::string end = ColdPrefixEnd(partition, table.id);
    const rocksdb::Slice from(begin);
    const rocksdb::Slice to(end);
    rocksdb::DeleteFilesInRange(impl_->db.get(), impl_->db->DefaultColumnFamily(), &from, &to,
                                /*include_end=*/false)
        .PermitUncheckedError();
  }
  return absl::OkStatus();
}

ColdStats ColdStore::Stats() const {
  using Properties = rocksdb::DB::Properties;
  const auto ticker = [this](rocksdb::Tickers which) {
    return impl_->statistics->getTickerCount(which);
  };
  const auto count = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {
      .live_bytes = impl_->Property(Properties::kLiveSstFilesSize),
      .disk_bytes = impl_->Property(Properties::kTotalSstFilesSize),
      .memory_bytes = impl_->Property(Properties::kCurSizeAllMemTables) +
                      impl_->Property(Properties::kEstimateTableReadersMem) +
                      impl_->Property(Properties::kBlockCacheUsage),
      .pending_compaction_bytes = impl_->Property(Properties::kEstimatePendingCompactionBytes),
      .stopped = impl_->Property(Properties::kIsWriteStopped) != 0,
      .rows_read = count(impl_->rows_read),
      .rows_written = count(impl_->rows_written),
      .bytes_written = count(impl_->bytes_written),
      .bytes_flushed = ticker(rocksdb::FLUSH_WRITE_BYTES) + ticker(rocksdb::COMPACT_WRITE_BYTES),
      .read_errors = count(impl_->read_errors),
      .write_errors = count(impl_->write_errors),
      .damaged_rows = count(impl_->damaged_rows)};
}

}  // namespace hotrow
