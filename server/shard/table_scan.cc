#include "server/shard/table_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/shard/request_errors.h"

namespace hotrow {
namespace {

constexpr int64_t kDefaultBatchBytes = int64_t{1} << 20;
constexpr uint32_t kRetryAfterMs = 1000;

absl::Status Overloaded(std::string message, std::string hint) {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kOverloaded;
  error.message = std::move(message);
  error.hint = std::move(hint);
  error.retry_after_ms = kRetryAfterMs;
  return wire::ToStatus(error);
}

int64_t RecordBytes(const RowLayout& layout, bool with_state) {
  const int64_t columns = layout.dim + (with_state ? layout.state_columns : 0);
  return static_cast<int64_t>(sizeof(Key)) + columns * static_cast<int64_t>(sizeof(float));
}

}  // namespace

TableScan::TableScan(ScanRange range, Memory memory, TimePoint now)
    : range_(range), memory_(std::move(memory)), last_used_(now) {}

TableScan::~TableScan() {
  MutexLock lock(mutex_);
  End();
}

absl::Status TableScan::AddKeys(Table& table) {
  const int64_t listed = table.tiers().rows_in_memory();
  if (!TakeMemory(listed * static_cast<int64_t>(sizeof(Key)))) {
    return Overloaded(fmt::format("table '{}': no memory for a list of its {} keys beside that of "
                                  "another scan",
                                  table.options().name, listed),
                      "wait until the other scan has ended, or raise the memory budget");
  }
  absl::StatusOr<std::unique_ptr<RowRange>> below = table.tiers().ScanCold();
  if (!below.ok()) return below.status();
  Rest rest;
  rest.below = *std::move(below);
  rest.keys = table.tiers().KeysInMemory();
  if (rest.below != nullptr) std::sort(rest.keys.begin(), rest.keys.end());
  MutexLock lock(mutex_);
  rests_.push_back(std::move(rest));
  SkipEmpty();
  return absl::OkStatus();
}

bool TableScan::TakeMemory(int64_t bytes) {
  MutexLock lock(mutex_);
  if (beside_budget_) return true;
  if (memory_.budget->TryTake(bytes)) {
    budgeted_bytes_ += bytes;
    return true;
  }
  beside_budget_ = !memory_.beside_taken->exchange(true, std::memory_order_relaxed);
  return beside_budget_;
}

void TableScan::SkipEmpty() {
  while (strand_ < rests_.size() && rests_[strand_].empty()) ++strand_;
}

void TableScan::End() {
  memory_.budget->GiveBack(std::exchange(budgeted_bytes_, 0));
  if (std::exchange(beside_budget_, false)) {
    memory_.beside_taken->store(false, std::memory_order_relaxed);
  }
  rests_.clear();
  strand_ = 0;
  ended_ = true;
}

bool TableScan::ExpireIfIdle(TimePoint used_before) {
  MutexLock lock(mutex_);
  if (ended_ || last_used_ > used_before) return false;
  End();
  expired_ = true;
  return true;
}

int TableScan::strand() const {
  MutexLock lock(mutex_);
  return static_cast<int>(strand_);
}

bool TableScan::AtEnd() const {
  MutexLock lock(mutex_);
  return strand_ == rests_.size();
}

bool TableScan::ended() const {
  MutexLock lock(mutex_);
  return ended_;
}

absl::StatusOr<ScanReply> TableScan::Next(Table& table, TimePoint now) {
  const RowLayout& layout = table.layout();
  const int64_t record_bytes = RecordBytes(layout, range_.with_state);
  ScanReply reply;
  reply.message.dim = static_cast<uint32_t>(layout.dim);
  reply.message.state_columns = static_cast<uint32_t>(range_.with_state ? layout.state_columns : 0);
  reply.message.payload_hash = wire::Payload().Hash();
  MutexLock lock(mutex_);
  if (expired_) return wire::ToStatus(ScanExpired());
  last_used_ = now;
  const size_t strand = strand_;
  while (strand_ == strand && strand < rests_.size()) {
    const Rest& rest = rests_[strand];
    const bool listed = rest.next < rest.keys.size();
    const auto most = listed ? std::min<int64_t>(range_.batch_rows, rest.keys.size() - rest.next)
                             : range_.batch_rows;
    wire::PayloadBuffer buffer(most * record_bytes);
    std::byte* const out = buffer.bytes().data();
    const auto copied = listed ? ReadListed(table, out) : ReadBelow(layout, out);
    if (!copied.ok()) return copied.status();
    SkipEmpty();
    if (*copied == 0) continue;  // all of them were removed, or are in the list
    reply.message.row_count = static_cast<uint32_t>(*copied);
    grpc::Slice slice = std::move(buffer).Release();
    if (*copied < most) slice = slice.sub(0, *copied * record_bytes);
    reply.message.payload_hash = wire::Payload({slice}, 0, slice.size()).Hash();
    reply.payload.push_back(std::move(slice));
    return reply;
  }
  if (strand_ == rests_.size()) End();
  return reply;
}

// Up to a batch of the listed rows.
absl::StatusOr<int64_t> TableScan::ReadListed(Table& table, std::byte* out) {
  Rest& rest = rests_[strand_];
  const auto keys = std::span<const Key>(rest.keys).subspan(rest.next);
  const auto some = keys.first(std::min(static_cast<size_t>(range_.batch_rows), keys.size()));
  const absl::StatusOr<int64_t> copied = table.CopyRecords(some, range_.with_state, out);
  if (copied.ok()) rest.next += some.size();
  return copied;
}

// Up to a batch of the rows of the cold tier, without those that were listed.
absl::StatusOr<int64_t> TableScan::ReadBelow(const RowLayout& layout, std::byte* out) {
  Rest& rest = rests_[strand_];
  rows_.Clear();
  if (absl::Status status = rest.below->Next(range_.batch_rows, &rows_); !status.ok()) {
    return status;
  }
  const size_t columns = layout.dim + (range_.with_state ? layout.state_columns : 0);
  int64_t copied = 0;
  for (int64_t i = 0; i < rows_.size(); ++i) {
    if (std::binary_search(rest.keys.begin(), rest.keys.end(), rows_.keys[i])) continue;
    std::memcpy(out, &rows_.keys[i], sizeof(Key));
    std::memcpy(out + sizeof(Key), rows_.record(i, layout.row_bytes), columns * sizeof(float));
    out += sizeof(Key) + columns * sizeof(float);
    ++copied;
  }
  if (rows_.size() < range_.batch_rows) rest.below = nullptr;
  return copied;
}

absl::StatusOr<std::shared_ptr<TableScan>> ScanSet::Start(ScanRange range, const ScanSupply& supply,
                                                          TableScan::TimePoint now) {
  MutexLock lock(mutex_);
  std::weak_ptr<TableScan>* place = FreePlace(now);
  if (place == nullptr) {
    return Overloaded(fmt::format("{} scans run on this shard", kMaxScans),
                      "wait until one of them has ended");
  }
  auto scan = std::make_shared<TableScan>(
      range, TableScan::Memory{supply.store, supply.budget, beside_taken_}, now);
  *place = scan;
  return scan;
}

absl::Status ScanSet::AddKeys(TableScan& scan, Table& table, TableScan::TimePoint now) {
  absl::Status status = scan.AddKeys(table);
  if (!status.ok() && ExpireIdle(now)) status = scan.AddKeys(table);
  return status;
}

bool ScanSet::ExpireIdle(TableScan::TimePoint now) {
  MutexLock lock(mutex_);
  bool found = false;
  for (const std::weak_ptr<TableScan>& place : scans_) {
    const std::shared_ptr<TableScan> scan = place.lock();
    found |= scan != nullptr && scan->ExpireIfIdle(now - kIdleLimit);
  }
  return found;
}

std::weak_ptr<TableScan>* ScanSet::FreePlace(TableScan::TimePoint now) {
  for (std::weak_ptr<TableScan>& place : scans_) {
    const std::shared_ptr<TableScan> scan = place.lock();
    if (scan == nullptr || scan->ended() || scan->ExpireIfIdle(now - kIdleLimit)) return &place;
  }
  return nullptr;
}

int64_t ScanBatchRows(uint32_t wanted, const RowLayout& layout, bool with_state) {
  const int64_t record_bytes = RecordBytes(layout, with_state);
  const int64_t most = static_cast<int64_t>(wire::kMaxPayloadBytes) / record_bytes;
  return std::clamp<int64_t>(wanted == 0 ? kDefaultBatchBytes / record_bytes : wanted, 1, most);
}

}  // namespace hotrow
