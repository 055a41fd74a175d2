#include "server/tiers/write_chunk.h"

namespace hotrow {

int64_t WriteChunk::Add(Entry entry, std::span<const std::byte> record) {
  entry.offset = static_cast<int64_t>(bytes_.size());
  entry.row_bytes = static_cast<int64_t>(record.size());
  bytes_.insert(bytes_.end(), record.begin(), record.end());
  entries_.push_back(entry);
  return static_cast<int64_t>(entries_.size()) - 1;
}

int64_t WriteChunk::bytes() const {
  return static_cast<int64_t>(bytes_.size() + entries_.size() * sizeof(Entry));
}

void WriteChunk::Clear() {
  entries_.clear();
  bytes_.clear();
}

}  // namespace hotrow
