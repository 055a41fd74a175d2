#include "server/shard/pull_executor.h"

#include <fmt/format.h>

#include <utility>

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

PullReply PullExecutor::Run(const wire::PullRequest& request) {
  PullReply reply;
  reply.message.request_id = request.request_id;
  reply.message.error = Prepare(request, &reply.message);
  if (!reply.message.error.ok()) {
    reply.message.tables.clear();
    return reply;
  }
  Fill(&reply);
  return reply;
}

wire::ErrorInfo PullExecutor::Prepare(const wire::PullRequest& request,
                                      wire::PullResponse* response) {
  if (!state_.SameMap(request.timeline, request.map_version)) return StaleMap(state_.options.map);
  keys_.resize(request.keys.size() / sizeof(Key));
  request.keys.CopyTo(0, std::as_writable_bytes(std::span(keys_)));
  parts_.clear();
  uint64_t bytes = 0;
  size_t offset = 0;
  for (const wire::TableKeys& asked : request.tables) {
    Table* table = state_.tables.Find(asked.table_id);
    if (table == nullptr) return NoSuchTable(asked.table_id);
    const auto dim = static_cast<uint32_t>(table->options().dim);
    bytes += uint64_t{asked.key_count} * dim * sizeof(float);
    parts_.push_back({table, std::span(keys_).subspan(offset, asked.key_count)});
    response->tables.push_back(
        {.table_id = asked.table_id, .row_count = asked.key_count, .dim = dim});
    offset += asked.key_count;
  }
  const uint64_t with_header =
      bytes + wire::kMaxHeaderBytes + wire::kMaxTableHeaderBytes * parts_.size();
  if (with_header > wire::kMaxMessageBytes) return ReplyTooLarge(with_header);
  for (const Part& part : parts_) {
    if (wire::ErrorInfo error = CheckKeys(part); !error.ok()) return error;
  }
  reply_bytes_ = bytes;
  return {};
}

wire::ErrorInfo PullExecutor::CheckKeys(const Part& part) const {
  const TableOptions& options = part.table->options();
  if (!part.table->KeysInRange(part.keys)) return KeyOutOfRange(options);
  const int bits = state_.partitions.partition_bits();
  bool owned = true;
  for (const Key key : part.keys) {
    owned &= state_.partitions.Owns(PartitionOfHash(HashKey(key, options.table_salt), bits));
  }
  return owned ? wire::ErrorInfo{} : NotOwned(options.name);
}

void PullExecutor::Fill(PullReply* reply) {
  if (reply_bytes_ == 0) {
    reply->message.payload_hash = wire::Payload().Hash();
    return;
  }
  wire::PayloadBuffer buffer(reply_bytes_);
  std::byte* out = buffer.bytes().data();
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    reply->message.tables[i].initial_count = part.table->Pull(part.keys, out);
    out += part.keys.size() * part.table->options().dim * sizeof(float);
  }
  grpc::Slice slice = std::move(buffer).Release();
  reply->message.payload_hash = wire::Payload({slice}, 0, reply_bytes_).Hash();
  reply->payload.push_back(std::move(slice));
}

}  // namespace hotrow
