#include "server/shard/table_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/wire/status_codec.h"

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

TableScan::TableScan(ScanRange range, std::vector<Key> keys, std::shared_ptr<MemoryBudget> budget)
    : range_(range), keys_(std::move(keys)), budget_(std::move(budget)) {}

TableScan::~TableScan() { End(); }

void TableScan::End() {
  budget_->GiveBack(static_cast<int64_t>(keys_.size() * sizeof(Key)));
  keys_ = {};
  ended_ = true;
}

void TableScan::Expire() {
  End();
  expired_ = true;
}

ScanReply TableScan::Next(Table& table) {
  const RowLayout& layout = table.layout();
  const int64_t record_bytes = RecordBytes(layout, range_.with_state);
  ScanReply reply;
  reply.message.dim = static_cast<uint32_t>(layout.dim);
  reply.message.state_columns = static_cast<uint32_t>(range_.with_state ? layout.state_columns : 0);
  reply.message.payload_hash = wire::Payload().Hash();
  while (next_ < keys_.size()) {
    const size_t count = std::min(static_cast<size_t>(range_.batch_rows), keys_.size() - next_);
    wire::PayloadBuffer buffer(count * record_bytes);
    const int64_t copied = table.CopyRecords(std::span(keys_).subspan(next_, count),
                                             range_.with_state, buffer.bytes().data());
    next_ += count;
    if (copied == 0) continue;  // all of them were removed
    reply.message.row_count = static_cast<uint32_t>(copied);
    grpc::Slice slice = std::move(buffer).Release();
    if (copied < static_cast<int64_t>(count)) slice = slice.sub(0, copied * record_bytes);
    reply.message.payload_hash = wire::Payload({slice}, 0, slice.size()).Hash();
    reply.payload.push_back(std::move(slice));
    return reply;
  }
  End();
  return reply;
}

absl::StatusOr<std::shared_ptr<TableScan>> ScanSet::Start(ScanRange range, Table& table,
                                                          std::shared_ptr<MemoryBudget> budget,
                                                          TableScan::TimePoint now) {
  std::weak_ptr<TableScan>* place = FreePlace(now);
  if (place == nullptr) {
    return Overloaded(fmt::format("{} scans run on this shard", kMaxScans),
                      "wait until one of them has ended");
  }
  const int64_t bytes = table.rows() * static_cast<int64_t>(sizeof(Key));
  if (!budget->TryTake(bytes)) {
    return Overloaded(fmt::format("table '{}': no memory for a list of its {} keys",
                                  table.options().name, table.rows()),
                      "raise the memory budget, or remove rows");
  }
  auto scan = std::make_shared<TableScan>(range, table.StoredKeys(), std::move(budget));
  scan->last_used = now;
  *place = scan;
  return scan;
}

std::weak_ptr<TableScan>* ScanSet::FreePlace(TableScan::TimePoint now) {
  for (std::weak_ptr<TableScan>& place : scans_) {
    const std::shared_ptr<TableScan> scan = place.lock();
    if (scan == nullptr || scan->ended()) return &place;
    if (now - scan->last_used < kIdleLimit) continue;
    scan->Expire();
    return &place;
  }
  return nullptr;
}

int64_t ScanBatchRows(uint32_t wanted, const RowLayout& layout, bool with_state) {
  const int64_t record_bytes = RecordBytes(layout, with_state);
  const int64_t most = static_cast<int64_t>(wire::kMaxPayloadBytes) / record_bytes;
  return std::clamp<int64_t>(wanted == 0 ? kDefaultBatchBytes / record_bytes : wanted, 1, most);
}

}  // namespace hotrow
