// WriteChunk: rows on their way to the cold store, in the order in which they left, of any tables.
// A later entry of a key replaces an earlier one.
//
// Thread safety: one owner at a time. Ownership: owns its bytes. Units: bytes as they lie here.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/key.h"

namespace hotrow {

class WriteChunk {
 public:
  struct Entry {
    Key key = 0;
    uint32_t table = 0;
    uint16_t partition = 0;
    // What the entry does to the number of stored rows: 1 for a row that the store did not have,
    // -1 for the removal of one that it had, 0 otherwise.
    int8_t row_delta = 0;
    bool removed = false;
    uint32_t score = 0;
    int64_t offset = 0;     // of the record in bytes()
    int64_t row_bytes = 0;  // 0 when removed
    uint64_t lsn = 0;
  };

  // Appends a row, or the removal of one (no record), and returns its place.
  int64_t Add(Entry entry, std::span<const std::byte> record);

  const std::vector<Entry>& entries() const { return entries_; }
  const std::byte* record(const Entry& entry) const { return bytes_.data() + entry.offset; }
  int64_t bytes() const;  // records and entries
  bool empty() const { return entries_.empty(); }
  // Keeps the memory.
  void Clear();

 private:
  std::vector<Entry> entries_;
  std::vector<std::byte> bytes_;
};

}  // namespace hotrow
