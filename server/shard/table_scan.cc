#include "server/shard/table_scan.h"

#include <fmt/format.h>

#include <algorithm>
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

absl::Status TableScan::AddKeys(const Table& table) {
  if (!TakeMemory(table.rows() * static_cast<int64_t>(sizeof(Key)))) {
    return Overloaded(fmt::format("table '{}': no memory for a list of its {} keys beside that of "
                                  "another scan",
                                  table.options().name, table.rows()),
                      "wait until the other scan has ended, or raise the memory budget");
  }
  std::vector<Key> keys = table.StoredKeys();
  MutexLock lock(mutex_);
  keys_.push_back(std::move(keys));
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
  while (strand_ < keys_.size() && next_ == keys_[strand_].size()) {
    ++strand_;
    next_ = 0;
  }
}

void TableScan::End() {
  memory_.budget->GiveBack(std::exchange(budgeted_bytes_, 0));
  if (std::exchange(beside_budget_, false)) {
    memory_.beside_taken->store(false, std::memory_order_relaxed);
  }
  keys_.clear();
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
  return strand_ == keys_.size();
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
  while (strand_ == strand && strand < keys_.size()) {
    const auto keys = std::span(keys_[strand]).subspan(next_);
    const auto some = keys.first(std::min(static_cast<size_t>(range_.batch_rows), keys.size()));
    wire::PayloadBuffer buffer(some.size() * record_bytes);
    const int64_t copied = table.CopyRecords(some, range_.with_state, buffer.bytes().data());
    next_ += some.size();
    SkipEmpty();
    if (copied == 0) continue;  // all of them were removed
    reply.message.row_count = static_cast<uint32_t>(copied);
    grpc::Slice slice = std::move(buffer).Release();
    if (copied < static_cast<int64_t>(some.size())) slice = slice.sub(0, copied * record_bytes);
    reply.message.payload_hash = wire::Payload({slice}, 0, slice.size()).Hash();
    reply.payload.push_back(std::move(slice));
    return reply;
  }
  if (strand_ == keys_.size()) End();
  return reply;
}

absl::StatusOr<std::shared_ptr<TableScan>> ScanSet::Start(ScanRange range,
                                                          std::shared_ptr<MemoryBudget> budget,
                                                          TableScan::TimePoint now) {
  MutexLock lock(mutex_);
  std::weak_ptr<TableScan>* place = FreePlace(now);
  if (place == nullptr) {
    return Overloaded(fmt::format("{} scans run on this shard", kMaxScans),
                      "wait until one of them has ended");
  }
  auto scan =
      std::make_shared<TableScan>(range, TableScan::Memory{std::move(budget), beside_taken_}, now);
  *place = scan;
  return scan;
}

absl::Status ScanSet::AddKeys(TableScan& scan, const Table& table, TableScan::TimePoint now) {
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
