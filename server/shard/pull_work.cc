#include "server/shard/pull_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/shard/request_errors.h"

namespace hotrow {
namespace {

wire::ErrorInfo ReplyTooLarge(uint64_t bytes) {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kInvalidArgument;
  error.message = fmt::format("the reply would have {} bytes, more than the limit of {}", bytes,
                              wire::kMaxMessageBytes);
  error.hint = "cut the request into several";
  return error;
}

}  // namespace

void PullWork::Rest() {
  if (std::max(keys_.capacity(), asked_keys_.capacity()) > kKeptKeys) {
    asked_keys_ = {};
    strand_of_ = {};
    keys_ = {};
    rows_ = {};
  }
  response_ = {};
  tables_.clear();
  reply_.reset();
  reply_bytes_ = 0;
  keys_.clear();
  rows_.clear();
  segments_.clear();
  strands_ = 0;
}

wire::ErrorInfo PullWork::Prepare(const wire::PullRequest& request) {
  concerned_.assign(state_.strand_map.strands(), 0);
  response_.request_id = request.request_id;
  kind_ = request.mode == wire::PullMode::kReadOnly ? ReadKind::kReadOnly : ReadKind::kTraining;
  if (!state_.SameMap(request.timeline, request.map_version)) return StaleMap(state_.options.map);
  if (wire::ErrorInfo error = LayOut(request); !error.ok()) return error;
  asked_keys_.resize(request.keys.size() / sizeof(Key));
  request.keys.CopyTo(0, std::as_writable_bytes(std::span(asked_keys_)));
  std::byte* rows = reply_bytes_ == 0 ? nullptr : reply_.emplace(reply_bytes_).bytes().data();
  auto keys = std::span<const Key>(asked_keys_);
  for (size_t i = 0; i < tables_.size(); ++i) {
    const TableOptions& table = tables_[i]->options;
    const auto asked = keys.first(request.tables[i].key_count);
    if (!table.KeysInRange(asked)) return KeyOutOfRange(table);
    if (!FindStrands(table, asked)) return NotOwned(table.name);
    ShareOut(i, asked, rows);
    rows += asked.size() * table.dim * sizeof(float);
    keys = keys.subspan(asked.size());
  }
  tables_.clear();
  strands_ = static_cast<int>(std::count(concerned_.begin(), concerned_.end(), 1));
  return {};
}

// The tables of the reply and its size.
wire::ErrorInfo PullWork::LayOut(const wire::PullRequest& request) {
  uint64_t bytes = 0;
  for (const wire::TableKeys& asked : request.tables) {
    TableDirectory::Entry entry = state_.tables.Find(asked.table_id);
    if (entry == nullptr) return NoSuchTable(asked.table_id);
    const auto dim = static_cast<uint32_t>(entry->options.dim);
    bytes += uint64_t{asked.key_count} * dim * sizeof(float);
    response_.tables.push_back(
        {.table_id = asked.table_id, .row_count = asked.key_count, .dim = dim});
    tables_.push_back(std::move(entry));
  }
  const uint64_t with_header =
      bytes + wire::kMaxHeaderBytes + wire::kMaxTableHeaderBytes * tables_.size();
  if (with_header > wire::kMaxMessageBytes) return ReplyTooLarge(with_header);
  reply_bytes_ = bytes;
  return {};
}

bool PullWork::FindStrands(const TableOptions& table, std::span<const Key> keys) {
  const StrandMap& map = state_.strand_map;
  strand_of_.resize(keys.size());
  int lowest = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const int strand =
        map.Of(PartitionOfHash(HashKey(keys[i], table.table_salt), map.partition_bits()));
    strand_of_[i] = static_cast<int16_t>(strand);
    lowest = std::min(lowest, strand);
  }
  return lowest >= 0;
}

// Counting sort of the keys by strand, in their order.
void PullWork::ShareOut(size_t table, std::span<const Key> keys, std::byte* rows) {
  cursors_.assign(state_.strand_map.strands(), 0);
  for (const int16_t strand : strand_of_) ++cursors_[strand];
  size_t begin = keys_.size();
  for (int strand = 0; strand < state_.strand_map.strands(); ++strand) {
    const size_t count = std::exchange(cursors_[strand], begin);
    if (count == 0) continue;
    segments_.push_back({.strand = strand, .table = table, .begin = begin, .end = begin + count});
    concerned_[strand] = 1;
    begin += count;
  }
  keys_.resize(begin);
  rows_.resize(begin);
  const size_t row_bytes = response_.tables[table].dim * sizeof(float);
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t at = cursors_[strand_of_[i]]++;
    keys_[at] = keys[i];
    rows_[at] = AsRow(rows + i * row_bytes);
  }
}

void PullWork::Run(StrandState& strand, int index) {
  for (Segment& segment : segments_) {
    if (segment.strand != index) continue;
    const uint32_t id = response_.tables[segment.table].table_id;
    Table* table = strand.tables.Find(id);
    if (table == nullptr) return shared_.Fail(NoSuchTable(id));  // dropped since it was looked up
    const size_t count = segment.end - segment.begin;
    const absl::StatusOr<uint32_t> initial =
        table->Pull(std::span(keys_).subspan(segment.begin, count),
                    std::span(rows_).subspan(segment.begin, count), kind_);
    if (!initial.ok()) return shared_.Fail(wire::FromStatus(initial.status()));
    segment.initial = *initial;
  }
}

PullReply PullWork::Finish() {
  PullReply reply;
  response_.error = shared_.error();
  if (!response_.error.ok()) {
    response_.tables.clear();
  } else if (reply_bytes_ == 0) {
    response_.payload_hash = wire::Payload().Hash();
  } else {
    for (const Segment& segment : segments_) {
      response_.tables[segment.table].initial_count += segment.initial;
    }
    grpc::Slice slice = std::move(*reply_).Release();
    response_.payload_hash = wire::Payload({slice}, 0, reply_bytes_).Hash();
    reply.payload.push_back(std::move(slice));
  }
  reply.message = std::move(response_);
  reply.times = shared_.times();
  return reply;
}

}  // namespace hotrow
