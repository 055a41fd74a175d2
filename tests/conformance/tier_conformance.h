// What every tier promises. An implementation instantiates the suite with a place that offers
//
//   Tier& tier()            of TierRows rows at least, which hold RecordOf(layout, key)
//   static RowLayout layout()
//   bool keeps_copies()     a row that is moved out stays below, as it was

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/tiers/tier.h"
#include "tests/conformance/row_values.h"

namespace hotrow::testing {

template <typename Place>
class TierConformance : public ::testing::Test {
 protected:
  using Record = std::vector<std::byte>;

  struct Found {
    absl::Status status;
    std::vector<Record> records;
    std::vector<uint32_t> scores;
    std::vector<uint8_t> found;
  };

  // A record as it may come to a tier: dirty, and new to what lies below.
  static Record New(Key key, uint64_t version = 0) {
    Record record = RecordOf(Place::layout(), key ^ version);
    Place::layout().meta(record.data())->flags = kRowDirty;
    return record;
  }
  // Weights, state, LSN and step count: what must survive. Flags are the tiers' own.
  static Record Kept(Record record) {
    Place::layout().meta(record.data())->flags = 0;
    return record;
  }

  void Put(const std::vector<Key>& keys, uint64_t version = 0, uint32_t flags = kRowDirty) {
    std::vector<Record> records;
    std::vector<const std::byte*> sources;
    std::vector<uint32_t> scores;
    for (const Key key : keys) {
      records.push_back(New(key, version));
      Place::layout().meta(records.back().data())->flags = flags;
      scores.push_back(static_cast<uint32_t>(MixKey(key + version)));
    }
    for (const Record& record : records) sources.push_back(record.data());
    ASSERT_TRUE(place_.tier().MakeRoom(static_cast<int64_t>(keys.size()), Patience::kBounded).ok());
    RowBlock displaced;
    place_.tier().Upsert({keys, sources, scores}, &displaced);
    ASSERT_EQ(displaced.size(), 0);
  }

  Found Look(const std::vector<Key>& keys, Lookup lookup = Lookup::kCopy) {
    Found out;
    out.records.assign(keys.size(), Record(static_cast<size_t>(Place::layout().row_bytes)));
    out.scores.assign(keys.size(), 0);
    out.found.assign(keys.size(), 2);
    std::vector<std::byte*> targets;
    for (Record& record : out.records) targets.push_back(record.data());
    out.status = place_.tier().Find({keys, targets, out.scores}, lookup, out.found);
    return out;
  }

  void ExpectHolds(const std::vector<Key>& keys, uint64_t version = 0) {
    const Found rows = Look(keys);
    ASSERT_TRUE(rows.status.ok());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(rows.found[i], 1) << "key " << keys[i];
      ASSERT_EQ(Kept(rows.records[i]), Kept(New(keys[i], version))) << "key " << keys[i];
      ASSERT_EQ(rows.scores[i], static_cast<uint32_t>(MixKey(keys[i] + version)));
    }
  }
  void ExpectLacks(const std::vector<Key>& keys) {
    const Found rows = Look(keys);
    ASSERT_TRUE(rows.status.ok());
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(rows.found[i], 0) << "key " << keys[i];
  }

  Place place_;
};
TYPED_TEST_SUITE_P(TierConformance);

TYPED_TEST_P(TierConformance, FindsNothingWhenItIsNew) {
  this->ExpectLacks(SpecialKeys());
  EXPECT_EQ(this->place_.tier().Size().rows, 0);
  EXPECT_TRUE(this->place_.tier().MayGrow().ok());
}

TYPED_TEST_P(TierConformance, GivesBackWhatItTook) {
  int64_t rows = 0;
  for (const int64_t count : {0, 1, 31, 32, 33, 1000}) {
    const auto keys = Keys(count * 10'000, count);
    this->Put(keys);
    this->ExpectHolds(keys);
    rows += count;
    EXPECT_EQ(this->place_.tier().Size().rows, rows);
  }
  this->Put(SpecialKeys());
  this->ExpectHolds(SpecialKeys());
  this->ExpectLacks(Keys(77'000'000, 100));
  EXPECT_GE(this->place_.tier().Size().used_bytes, rows * TypeParam::layout().row_bytes);
}

TYPED_TEST_P(TierConformance, TheNewestVersionIsTheOnlyOne) {
  const auto keys = Keys(0, 200);
  this->Put(keys, 1);
  this->Put(keys, 2, kRowDirty | (this->place_.keeps_copies() ? kRowBelow : 0));
  this->ExpectHolds(keys, 2);
  EXPECT_EQ(this->place_.tier().Size().rows, 200);
}

TYPED_TEST_P(TierConformance, AMovedRowIsTheCallers) {
  const auto keys = Keys(0, 100);
  const auto moved = Keys(0, 40);
  this->Put(keys);
  const auto rows = this->Look(moved, Lookup::kMove);
  ASSERT_TRUE(rows.status.ok());
  for (size_t i = 0; i < moved.size(); ++i) {
    ASSERT_EQ(rows.found[i], 1);
    EXPECT_EQ(this->Kept(rows.records[i]), this->Kept(this->New(moved[i])));
    const uint32_t flags =
        TypeParam::layout().meta(const_cast<std::byte*>(rows.records[i].data()))->flags;
    EXPECT_EQ((flags & kRowBelow) != 0, this->place_.keeps_copies());
  }
  this->ExpectHolds(Keys(40, 60));
  if (this->place_.keeps_copies()) {
    this->ExpectHolds(moved);
    EXPECT_EQ(this->place_.tier().Size().rows, 100);
  } else {
    this->ExpectLacks(moved);
    EXPECT_EQ(this->place_.tier().Size().rows, 60);
  }
}

TYPED_TEST_P(TierConformance, RemovedRowsAreGone) {
  const auto keys = Keys(0, 100);
  this->Put(keys);
  ASSERT_TRUE(this->place_.tier().MakeRoom(50, Patience::kBounded).ok());
  this->place_.tier().Remove(Keys(0, 50));
  this->ExpectLacks(Keys(0, 50));
  this->ExpectHolds(Keys(50, 50));
  EXPECT_EQ(this->place_.tier().Size().rows, 50);
  this->Put(Keys(0, 50), 3);
  this->ExpectHolds(Keys(0, 50), 3);
  EXPECT_EQ(this->place_.tier().Size().rows, 100);
}

TYPED_TEST_P(TierConformance, AWalkMeetsEveryRowOnce) {
  const auto keys = Keys(0, 1000);
  this->Put(keys);
  auto range = this->place_.tier().Scan();
  ASSERT_TRUE(range.ok());
  std::set<Key> seen;
  for (bool end = false; !end;) {
    RowBlock rows;
    ASSERT_TRUE((*range)->Next(33, &rows).ok());
    ASSERT_LE(rows.size(), 33);
    end = rows.size() < 33;
    for (int64_t i = 0; i < rows.size(); ++i) {
      EXPECT_TRUE(seen.insert(rows.keys[i]).second);
      const std::byte* const record = rows.record(i, TypeParam::layout().row_bytes);
      EXPECT_EQ(this->Kept({record, record + TypeParam::layout().row_bytes}),
                this->Kept(this->New(rows.keys[i])));
      EXPECT_EQ(rows.scores[i], static_cast<uint32_t>(MixKey(rows.keys[i])));
    }
  }
  EXPECT_EQ(seen, std::set<Key>(keys.begin(), keys.end()));
}

REGISTER_TYPED_TEST_SUITE_P(TierConformance, FindsNothingWhenItIsNew, GivesBackWhatItTook,
                            TheNewestVersionIsTheOnlyOne, AMovedRowIsTheCallers, RemovedRowsAreGone,
                            AWalkMeetsEveryRowOnce);

}  // namespace hotrow::testing
