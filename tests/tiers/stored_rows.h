// A cold store in a directory of its own, and rows for it.

#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "proto/wire/status_codec.h"
#include "server/tiers/cold_store.h"
#include "server/tiers/write_chunk.h"
#include "tests/conformance/row_values.h"
#include "tests/rpc/temporary_directory.h"

namespace hotrow::testing {

inline constexpr int kPartitionBits = 3;

#define ASSERT_OK(expression) ASSERT_TRUE(::hotrow::testing::Succeeds(expression))
#define EXPECT_OK(expression) EXPECT_TRUE(::hotrow::testing::Succeeds(expression))

inline ::testing::AssertionResult Succeeds(const absl::Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::string(status.message());
}

inline wire::ErrorKind KindOf(const absl::Status& status) { return wire::FromStatus(status).kind; }
inline std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

inline RowLayout TestLayout() { return RowLayout::Of(5, 3); }

inline ColdTable TestTable(uint32_t id = 7) {
  return {.id = id,
          .name = "table" + std::to_string(id),
          .salt = MixKey(id),
          .row_bytes = TestLayout().row_bytes};
}

inline std::vector<uint32_t> AllPartitions() {
  std::vector<uint32_t> partitions;
  for (uint32_t partition = 0; partition < 1U << kPartitionBits; ++partition) {
    partitions.push_back(partition);
  }
  return partitions;
}

inline ColdOptions TestColdOptions(const std::string& path) {
  ColdOptions options;
  options.path = path;
  options.disk_budget_bytes = int64_t{1} << 30;
  options.memory_bytes = int64_t{8} << 20;
  options.read_threads = 2;
  options.reserve_bytes = 0;
  return options;
}

inline std::unique_ptr<ColdStore> OpenStore(const ColdOptions& options) {
  auto store = ColdStore::Open(options, kPartitionBits);
  EXPECT_TRUE(store.ok()) << TextOf(store.status());
  return store.ok() ? *std::move(store) : nullptr;
}

inline WriteChunk::Entry EntryOf(const ColdTable& table, Key key) {
  WriteChunk::Entry entry;
  entry.key = key;
  entry.table = table.id;
  entry.partition =
      static_cast<uint16_t>(PartitionOfHash(HashKey(key, table.salt), kPartitionBits));
  return entry;
}

// A chunk of new rows, whose records are RecordOf(layout, key ^ version).
inline WriteChunk RowsChunk(const ColdTable& table, const std::vector<Key>& keys,
                            uint64_t version = 0) {
  WriteChunk chunk;
  for (const Key key : keys) {
    WriteChunk::Entry entry = EntryOf(table, key);
    entry.row_delta = 1;
    entry.score = static_cast<uint32_t>(MixKey(key));
    entry.lsn = key % 1000;
    chunk.Add(entry, RecordOf(TestLayout(), key ^ version));
  }
  return chunk;
}

// What a lookup of keys came to.
struct FoundRows {
  absl::Status status;
  std::vector<std::vector<std::byte>> records;
  std::vector<uint32_t> scores;
  std::vector<uint8_t> found;
};

template <typename Find>
FoundRows FindRows(const std::vector<Key>& keys, const Find& find) {
  FoundRows rows;
  rows.records.assign(keys.size(),
                      std::vector<std::byte>(static_cast<size_t>(TestLayout().row_bytes)));
  rows.scores.assign(keys.size(), 0);
  rows.found.assign(keys.size(), 2);
  std::vector<std::byte*> targets;
  for (auto& record : rows.records) targets.push_back(record.data());
  rows.status = find(RowTargets{keys, targets, rows.scores}, std::span<uint8_t>(rows.found));
  return rows;
}

inline FoundRows FindInStore(ColdStore& store, const ColdTable& table,
                             const std::vector<Key>& keys) {
  return FindRows(keys, [&](const RowTargets& targets, std::span<uint8_t> found) {
    return store.Find(table, targets, found);
  });
}

inline int64_t RowsOf(const ColdStore& store, const ColdTable& table) {
  int64_t rows = 0;
  for (const uint32_t partition : AllPartitions()) rows += store.Rows(table.id, partition);
  return rows;
}

inline void ExpectRows(ColdStore& store, const ColdTable& table, const std::vector<Key>& keys,
                       uint64_t version = 0) {
  const FoundRows rows = FindInStore(store, table, keys);
  ASSERT_OK(rows.status);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(rows.found[i], 1) << "key " << keys[i];
    ASSERT_EQ(rows.records[i], RecordOf(TestLayout(), keys[i] ^ version)) << "key " << keys[i];
    ASSERT_EQ(rows.scores[i], static_cast<uint32_t>(MixKey(keys[i])));
  }
}

inline void ExpectNoRows(ColdStore& store, const ColdTable& table, const std::vector<Key>& keys) {
  const FoundRows rows = FindInStore(store, table, keys);
  ASSERT_OK(rows.status);
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(rows.found[i], 0) << "key " << keys[i];
}

}  // namespace hotrow::testing
