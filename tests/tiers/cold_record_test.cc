#include "server/tiers/cold_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/tiers/cold_meta.h"
#include "tests/conformance/row_values.h"

namespace hotrow::testing {
namespace {

std::string_view View(const ColdKey& key) { return {key.data(), key.size()}; }

TEST(ColdRecord, KeysSortByPartitionTableAndKey) {
  const std::vector<ColdKey> keys = {
      EncodeColdKey(0, 1, 0),          EncodeColdKey(0, 1, 1),       EncodeColdKey(0, 1, 255),
      EncodeColdKey(0, 1, 256),        EncodeColdKey(0, 1, ~Key{0}), EncodeColdKey(0, 2, 0),
      EncodeColdKey(0, UINT32_MAX, 5), EncodeColdKey(1, 1, 0),       EncodeColdKey(1023, 1, 0)};
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(),
                             [](const ColdKey& a, const ColdKey& b) { return View(a) < View(b); }));
  EXPECT_LT(View(keys.back()), MetaBegin());
}

TEST(ColdRecord, EveryKeyComesBack) {
  for (const Key key : SpecialKeys()) {
    EXPECT_EQ(KeyOfColdKey(View(EncodeColdKey(3, 9, key))), key);
  }
}

TEST(ColdRecord, ATableIsARangeOfAPartition) {
  for (const uint32_t table : {1U, 2U, 255U, 256U, UINT32_MAX}) {
    const std::string begin = ColdPrefix(5, table);
    const std::string end = ColdPrefixEnd(5, table);
    for (const Key key : SpecialKeys()) {
      EXPECT_LE(begin, View(EncodeColdKey(5, table, key)));
      EXPECT_LT(View(EncodeColdKey(5, table, key)), end);
      EXPECT_GE(View(EncodeColdKey(6, 0, key)), end);
      EXPECT_LT(View(EncodeColdKey(5, table - 1, key)), begin);
    }
  }
}

TEST(ColdRecord, AValueComesBackWhole) {
  const auto layout = RowLayout::Of(5, 3);
  const auto record = RecordOf(layout, 42);
  const ColdKey key = EncodeColdKey(1, 2, 42);
  std::string value;
  EncodeColdValue(View(key), 77, record, &value);
  EXPECT_EQ(static_cast<int64_t>(value.size() + key.size()), ColdRowBytes(layout.row_bytes));
  ColdValue out;
  ASSERT_TRUE(DecodeColdValue(View(key), value, layout.row_bytes, &out));
  EXPECT_EQ(out.score, 77);
  EXPECT_EQ(out.record,
            std::string_view(reinterpret_cast<const char*>(record.data()), record.size()));
}

TEST(ColdRecord, EveryFlippedBitIsSeen) {
  const auto layout = RowLayout::Of(3, 0);
  const ColdKey key = EncodeColdKey(1, 2, 42);
  std::string value;
  EncodeColdValue(View(key), 77, RecordOf(layout, 42), &value);
  ColdValue out;
  for (size_t bit = 0; bit < value.size() * 8; ++bit) {
    std::string damaged = value;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(DecodeColdValue(View(key), damaged, layout.row_bytes, &out)) << "bit " << bit;
  }
  for (size_t size = 0; size < value.size(); ++size) {
    EXPECT_FALSE(DecodeColdValue(View(key), value.substr(0, size), layout.row_bytes, &out));
  }
  EXPECT_FALSE(DecodeColdValue(View(EncodeColdKey(1, 2, 43)), value, layout.row_bytes, &out))
      << "a row under the key of another";
  EXPECT_FALSE(DecodeColdValue(View(EncodeColdKey(1, 3, 42)), value, layout.row_bytes, &out));
}

TEST(ColdMeta, ReadsWhatItNames) {
  ColdMeta meta;
  meta.lsns.resize(8, 0);
  EXPECT_TRUE(meta.Read(RowsKey(70000, 5), NumberValue(int64_t{123})));
  EXPECT_TRUE(meta.Read(LsnKey(5), NumberValue(uint64_t{9})));
  EXPECT_TRUE(meta.Read(FormatKey(), NumberValue(kColdFormat)));
  EXPECT_EQ(meta.rows[ColdMeta::Place(70000, 5)], 123);
  EXPECT_EQ(meta.lsns[5], 9);
  EXPECT_EQ(meta.format, kColdFormat);
}

TEST(ColdMeta, RefusesWhatItCannotRead) {
  ColdMeta meta;
  meta.lsns.resize(8, 0);
  EXPECT_FALSE(meta.Read(RowsKey(1, 8), NumberValue(int64_t{1}))) << "no such partition";
  EXPECT_FALSE(meta.Read(LsnKey(8), NumberValue(uint64_t{1})));
  EXPECT_FALSE(meta.Read(RowsKey(1, 1), "short"));
  EXPECT_FALSE(meta.Read(MetaBegin() + "?", ""));
  EXPECT_FALSE(meta.Read(MetaBegin(), ""));
}

}  // namespace
}  // namespace hotrow::testing
