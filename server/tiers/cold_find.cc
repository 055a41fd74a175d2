// Reading rows of the cold store: single keys in sorted pieces over several threads, and ranges.

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/base/row_layout.h"
#include "server/tiers/cold_record.h"
#include "server/tiers/cold_store_impl.h"

namespace hotrow {
namespace {

// Keys of one MultiGet: large enough to share block reads, small enough to share out over threads.
constexpr size_t kPieceKeys = 64;

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
std::string_view View(const ColdKey& key) { return {key.data(), key.size()}; }

// One lookup, worked on by several threads.
class Reading {
 public:
  Reading(ColdStore::Impl& store, const ColdTable& table, const RowTargets& rows,
          std::span<uint8_t> found)
      : store_(store), table_(table), rows_(rows), found_(found) {
    keys_.reserve(rows.size());
    for (const Key key : rows.keys) {
      const uint32_t partition = PartitionOfHash(HashKey(key, table.salt), store.partition_bits);
      keys_.push_back(EncodeColdKey(static_cast<uint16_t>(partition), table.id, key));
    }
    order_.resize(rows.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    // As views: these compare bytes as RocksDB does, without a sign.
    std::sort(order_.begin(), order_.end(),
              [&](size_t a, size_t b) { return View(keys_[a]) < View(keys_[b]); });
  }

  size_t pieces() const { return (order_.size() + kPieceKeys - 1) / kPieceKeys; }

  // Takes pieces until there are no more.
  void Work() {
    for (size_t piece = next_++; piece < pieces(); piece = next_++) {
      const size_t begin = piece * kPieceKeys;
      ReadPiece(std::span(order_).subspan(begin, std::min(kPieceKeys, order_.size() - begin)));
    }
  }

  void Fail(const absl::Status& status) {
    MutexLock lock(mutex_);
    if (status_.ok()) status_ = status;
  }
  absl::Status status() const {
    MutexLock lock(mutex_);
    return status_;
  }

  // Another thread than the caller's works on it. False once the caller has left: its rows may be
  // gone.
  bool Enter() {
    MutexLock lock(mutex_);
    if (left_) return false;
    ++helpers_;
    return true;
  }
  void Exit() {
    MutexLock lock(mutex_);
    if (--helpers_ == 0) done_.NotifyAll();
  }
  // The caller leaves, when nobody is at work any more.
  void Leave() {
    MutexLock lock(mutex_);
    left_ = true;
    while (helpers_ > 0) done_.Wait(mutex_);
  }

 private:
  void ReadPiece(std::span<const size_t> places) {
    std::array<rocksdb::Slice, kPieceKeys> keys;
    std::array<rocksdb::PinnableSlice, kPieceKeys> values;
    std::array<rocksdb::Status, kPieceKeys> statuses;
    for (size_t i = 0; i < places.size(); ++i) {
      keys[i] = {keys_[places[i]].data(), kColdKeyBytes};
    }
    store_.db->MultiGet(rocksdb::ReadOptions(), store_.db->DefaultColumnFamily(), places.size(),
                        keys.data(), values.data(), statuses.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < places.size(); ++i) {
      if (!Take(places[i], values[i], statuses[i])) return;
    }
  }

  bool Take(size_t at, const rocksdb::PinnableSlice& value, const rocksdb::Status& status) {
    found_[at] = 0;
    if (status.IsNotFound()) return true;
    if (status.IsCorruption()) {
      store_.damaged_rows.fetch_add(1, std::memory_order_relaxed);
      Fail(DamagedRow(store_.options, table_, status.ToString()));
      return false;
    }
    if (!status.ok()) {
      store_.read_errors.fetch_add(1, std::memory_order_relaxed);
      Fail(FromRocksdb(status, store_.options, fmt::format("reading table '{}'", table_.name)));
      return false;
    }
    ColdValue row;
    if (!DecodeColdValue(View(keys_[at]), View(value), table_.row_bytes, &row)) {
      store_.damaged_rows.fetch_add(1, std::memory_order_relaxed);
      Fail(DamagedRow(store_.options, table_, "its checksum does not match"));
      return false;
    }
    std::memcpy(rows_.records[at], row.record.data(), row.record.size());
    rows_.scores[at] = row.score;
    found_[at] = 1;
    return true;
  }

  ColdStore::Impl& store_;
  const ColdTable& table_;
  const RowTargets& rows_;
  const std::span<uint8_t> found_;
  std::vector<ColdKey> keys_;
  std::vector<size_t> order_;
  std::atomic<size_t> next_{0};  // relaxed would do: a piece is taken once
  mutable Mutex mutex_;
  CondVar done_;
  int helpers_ HOTROW_GUARDED_BY(mutex_) = 0;
  bool left_ HOTROW_GUARDED_BY(mutex_) = false;
  absl::Status status_ HOTROW_GUARDED_BY(mutex_);
};

// The rows of some partitions, seen through one snapshot.
class SnapshotRange final : public RowRange {
 public:
  SnapshotRange(ColdStore::Impl& store, ColdTable table, std::vector<uint32_t> partitions)
      : store_(store), table_(std::move(table)), partitions_(std::move(partitions)) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.readahead_size = size_t{1} << 20;
    iterator_.reset(store_.db->NewIterator(options));
    SeekPartition();
  }

  absl::Status Next(int64_t limit, RowBlock* rows) override {
    for (int64_t taken = 0; taken < limit && partition_ < partitions_.size();) {
      if (!iterator_->Valid() || !iterator_->key().starts_with(prefix_)) {
        if (!iterator_->status().ok()) break;
        ++partition_;
        SeekPartition();
        continue;
      }
      const std::string_view key = View(iterator_->key());
      ColdValue row;
      if (!DecodeColdValue(key, View(iterator_->value()), table_.row_bytes, &row)) {
        store_.damaged_rows.fetch_add(1, std::memory_order_relaxed);
        return DamagedRow(store_.options, table_, "its checksum does not match");
      }
      rows->Add(KeyOfColdKey(key), row.score, reinterpret_cast<const std::byte*>(row.record.data()),
                table_.row_bytes);
      ++taken;
      iterator_->Next();
    }
    return FromRocksdb(iterator_->status(), store_.options,
                       fmt::format("reading table '{}'", table_.name));
  }

 private:
  void SeekPartition() {
    if (partition_ == partitions_.size()) return;
    prefix_ = ColdPrefix(static_cast<uint16_t>(partitions_[partition_]), table_.id);
    iterator_->Seek(prefix_);
  }

  ColdStore::Impl& store_;
  const ColdTable table_;
  const std::vector<uint32_t> partitions_;
  size_t partition_ = 0;  // of partitions_
  std::string prefix_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace

absl::Status ColdStore::Find(const ColdTable& table, const RowTargets& rows,
                             std::span<uint8_t> found) {
  if (rows.keys.empty()) return absl::OkStatus();
  auto reading = std::make_shared<Reading>(*impl_, table, rows, found);
  const size_t helpers = std::min<size_t>(impl_->options.read_threads, reading->pieces()) - 1;
  for (size_t i = 0; i < helpers; ++i) {
    const bool submitted = impl_->readers.TrySubmit([reading] {
      if (!reading->Enter()) return;
      reading->Work();
      reading->Exit();
    });
    if (!submitted) break;  // those that run, and this thread, do it all
  }
  reading->Work();
  reading->Leave();
  impl_->rows_read.fetch_add(rows.size(), std::memory_order_relaxed);
  return reading->status();
}

absl::StatusOr<std::unique_ptr<RowRange>> ColdStore::Scan(const ColdTable& table,
                                                          std::vector<uint32_t> partitions) const {
  return std::make_unique<SnapshotRange>(*impl_, table, std::move(partitions));
}

}  // namespace hotrow
