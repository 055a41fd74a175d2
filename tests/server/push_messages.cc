#include "tests/server/push_messages.h"

#include <algorithm>
#include <cstring>

namespace hotrow::test {
namespace {

void AppendBytes(const void* from, size_t size, std::vector<std::byte>* to) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to->insert(to->end(), bytes, bytes + size);
}

}  // namespace

wire::Payload Sliced(const std::vector<std::byte>& bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  const size_t step = slice_bytes == 0 ? bytes.size() : slice_bytes;
  for (size_t at = 0; at < bytes.size(); at += step) {
    slices.emplace_back(bytes.data() + at, std::min(step, bytes.size() - at));
  }
  return wire::Payload(std::move(slices), 0, bytes.size());
}

FrozenSubPush Freeze(uint32_t partition, uint64_t sequence, wire::Operation operation,
                     const std::vector<TablePart>& tables) {
  FrozenSubPush frozen;
  frozen.header.partition = partition;
  frozen.header.sequence = sequence;
  frozen.header.operation = operation;
  for (const TablePart& table : tables) {
    frozen.header.tables.push_back({table.table_id, static_cast<uint32_t>(table.keys.size()),
                                    table.dim, table.step, table.learning_rate});
    AppendBytes(table.keys.data(), table.keys.size() * sizeof(Key), &frozen.bytes);
    AppendBytes(table.rows.data(), table.rows.size() * sizeof(float), &frozen.bytes);
  }
  frozen.header.content_hash = wire::ContentHash(frozen.header, Sliced(frozen.bytes));
  return frozen;
}

wire::PushRequest Message(uint64_t session, const std::vector<FrozenSubPush>& sub_pushes,
                          size_t slice_bytes) {
  wire::PushRequest request;
  request.request_id = 77;
  request.session = session;
  request.timeline = 1;
  request.map_version = 1;
  std::vector<std::byte> bytes;
  for (const FrozenSubPush& sub_push : sub_pushes) {
    request.sub_pushes.push_back(sub_push.header);
    AppendBytes(sub_push.bytes.data(), sub_push.bytes.size(), &bytes);
  }
  request.payload = Sliced(bytes, slice_bytes);
  return request;
}

wire::PullRequest PullMessage(uint32_t table_id, const std::vector<Key>& keys, size_t slice_bytes) {
  wire::PullRequest request;
  request.request_id = 78;
  request.timeline = 1;
  request.map_version = 1;
  request.tables = {{table_id, static_cast<uint32_t>(keys.size())}};
  std::vector<std::byte> bytes;
  AppendBytes(keys.data(), keys.size() * sizeof(Key), &bytes);
  request.keys = Sliced(bytes, slice_bytes);
  return request;
}

std::map<uint32_t, TablePart> ByPartition(const TablePart& part, const wire::ShardMap& map,
                                          uint64_t salt) {
  std::map<uint32_t, TablePart> cut;
  for (size_t i = 0; i < part.keys.size(); ++i) {
    TablePart& to = cut[map.PartitionOf(part.keys[i], salt)];
    if (to.keys.empty()) to = {part.table_id, {}, {}, part.dim, part.step, part.learning_rate};
    to.keys.push_back(part.keys[i]);
    const auto row = part.rows.begin() + static_cast<int64_t>(i * part.dim);
    to.rows.insert(to.rows.end(), row, row + part.dim);
  }
  return cut;
}

}  // namespace hotrow::test
