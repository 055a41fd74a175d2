#include "server/tiers/rocksdb_tier.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "server/tiers/cold_record.h"

namespace hotrow {
namespace {

// Of a walk that begins: the queue is written first.
constexpr std::chrono::seconds kLongestDrain{10};

}  // namespace

RocksdbTier::RocksdbTier(ColdStore& store, WriteBehind& queue, Options options)
    : store_(store), queue_(queue), options_(std::move(options)) {
  for (const uint32_t partition : options_.partitions) {
    rows_ += store_.Rows(options_.table.id, partition);
  }
}

absl::Status RocksdbTier::Find(const RowTargets& rows, Lookup /*lookup*/,
                               std::span<uint8_t> found) {
  keys_.clear();
  records_.clear();
  places_.clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    const PendingRow row = queue_.Find(options_.table.id, rows.keys[i]);
    found[i] = row.state == PendingRow::State::kStored ? 1 : 0;
    if (row.state == PendingRow::State::kStored) {
      std::memcpy(rows.records[i], row.record, options_.layout.row_bytes);
      options_.layout.meta(rows.records[i])->flags = kRowBelow | kRowDirty;
      rows.scores[i] = row.score;
    } else if (row.state == PendingRow::State::kUnknown) {
      keys_.push_back(rows.keys[i]);
      records_.push_back(rows.records[i]);
      places_.push_back(i);
    }
  }
  if (keys_.empty()) return absl::OkStatus();
  scores_.resize(keys_.size());
  found_.resize(keys_.size());
  const absl::Status status = store_.Find(options_.table, {keys_, records_, scores_}, found_);
  if (!status.ok()) return status;
  for (size_t i = 0; i < places_.size(); ++i) {
    found[places_[i]] = found_[i];
    if (found_[i] == 0) continue;
    rows.scores[places_[i]] = scores_[i];
    options_.layout.meta(records_[i])->flags = kRowBelow;
  }
  return absl::OkStatus();
}

absl::Status RocksdbTier::MayGrow() { return store_.HasRoom(); }

absl::Status RocksdbTier::MakeRoom(int64_t rows, Patience patience) {
  const auto entry_bytes = static_cast<int64_t>(sizeof(WriteChunk::Entry));
  return queue_.MakeRoom(rows * (options_.layout.row_bytes + entry_bytes), patience);
}

WriteChunk::Entry RocksdbTier::EntryOf(Key key) const {
  const uint32_t partition =
      PartitionOfHash(HashKey(key, options_.table.salt), options_.partition_bits);
  return {.key = key, .table = options_.table.id, .partition = static_cast<uint16_t>(partition)};
}

void RocksdbTier::Upsert(const RowSources& rows, RowBlock* /*displaced*/) {
  for (size_t i = 0; i < rows.size(); ++i) {
    RowMeta meta;
    std::memcpy(&meta, rows.records[i] + options_.layout.meta_offset, sizeof(meta));
    if ((meta.flags & kRowDirty) == 0) continue;
    WriteChunk::Entry entry = EntryOf(rows.keys[i]);
    entry.row_delta = (meta.flags & kRowBelow) != 0 ? 0 : 1;
    entry.score = rows.scores[i];
    entry.lsn = meta.lsn;
    rows_ += entry.row_delta;
    queue_.Add(entry, {rows.records[i], static_cast<size_t>(options_.layout.row_bytes)});
  }
}

void RocksdbTier::Remove(std::span<const Key> keys) {
  for (const Key key : keys) {
    WriteChunk::Entry entry = EntryOf(key);
    entry.row_delta = -1;
    entry.removed = true;
    queue_.Add(entry, {});
  }
  rows_ -= static_cast<int64_t>(keys.size());
}

absl::StatusOr<std::unique_ptr<RowRange>> RocksdbTier::Scan() {
  if (absl::Status status = queue_.Drain(kLongestDrain); !status.ok()) return status;
  return store_.Scan(options_.table, options_.partitions);
}

TierSize RocksdbTier::Size() const {
  return {.rows = rows_, .used_bytes = rows_ * ColdRowBytes(options_.layout.row_bytes)};
}

}  // namespace hotrow
