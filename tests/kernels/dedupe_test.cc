#include "kernels/dedupe/dedupe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>

#include "tests/kernels/math_helpers.h"

namespace hotrow {
namespace {

struct Expected {
  std::vector<Key> unique;
  std::vector<int32_t> inverse;
};

Expected DedupeByMap(const std::vector<Key>& keys, std::optional<Key> skip) {
  Expected expected;
  std::unordered_map<Key, int32_t> seen;
  for (const Key key : keys) {
    if (skip.has_value() && key == *skip) {
      expected.inverse.push_back(kSkippedPosition);
      continue;
    }
    const auto [at, is_new] = seen.emplace(key, static_cast<int32_t>(seen.size()));
    if (is_new) expected.unique.push_back(key);
    expected.inverse.push_back(at->second);
  }
  return expected;
}

void ExpectAsByMap(Deduper& deduper, const std::vector<Key>& keys,
                   std::optional<Key> skip = std::nullopt) {
  const Expected expected = DedupeByMap(keys, skip);
  deduper.Run(keys, skip);
  EXPECT_TRUE(std::ranges::equal(deduper.unique(), expected.unique)) << keys.size() << " keys";
  EXPECT_TRUE(std::ranges::equal(deduper.inverse(), expected.inverse)) << keys.size() << " keys";
}

std::vector<Key> RandomKeys(size_t n, uint64_t range, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(n);
  for (Key& key : keys) key = random() % range;
  return keys;
}

TEST(Deduper, KeepsTheOrderOfFirstOccurrence) {
  Deduper deduper;
  deduper.Run(std::vector<Key>{7, 3, 7, 9, 3, 7});
  EXPECT_TRUE(std::ranges::equal(deduper.unique(), std::vector<Key>{7, 3, 9}));
  EXPECT_TRUE(std::ranges::equal(deduper.inverse(), std::vector<int32_t>{0, 1, 0, 2, 1, 0}));
}

TEST(Deduper, ReservesNoKey) {
  Deduper deduper;
  ExpectAsByMap(deduper, {0, UINT64_MAX, UINT64_MAX - 1, 1ULL << 63, (1ULL << 63) - 1, 0,
                          UINT64_MAX, 1, UINT64_MAX - 1, 1ULL << 63});
}

TEST(Deduper, LeavesOutTheSkippedKeyOnly) {
  Deduper deduper;
  ExpectAsByMap(deduper, {5, 0, 5, 1, 0}, 0);
  ExpectAsByMap(deduper, {5, 0, 5, 1, 0}, 5);
  ExpectAsByMap(deduper, {2, 2, 2}, 2);
  ExpectAsByMap(deduper, {UINT64_MAX, 3}, UINT64_MAX);
  ExpectAsByMap(deduper, {1, 2, 3}, 4);
}

TEST(Deduper, AgreesWithAMapAtEverySizeAndRepetition) {
  constexpr uint64_t kSeed = 20;
  Deduper deduper;  // one workspace for all: nothing of a former batch shows through
  for (const size_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 50000, 33, 0}) {
    for (const uint64_t range : {1ULL, 3ULL, 40ULL, 10000ULL, 1ULL << 62}) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << " range " << range);
      ExpectAsByMap(deduper, RandomKeys(n, range, kSeed + n));
      ExpectAsByMap(deduper, RandomKeys(n, range, kSeed + n), 0);
    }
  }
}

// Keys whose hashes agree in the low bits all start probing at one entry.
TEST(Deduper, SeparatesKeysThatCollide) {
  std::vector<Key> keys;
  for (Key key = 0; keys.size() < 200; ++key) {
    if ((MixKey(key) & 0x3ff) == 0x3ff) keys.push_back(key);  // also wraps round the table's end
  }
  keys.insert(keys.end(), keys.begin(), keys.begin() + 100);
  Deduper deduper;
  ExpectAsByMap(deduper, keys);
}

TEST(Deduper, GrowsWhenABatchHasManyMoreUniqueKeysThanTheLast) {
  Deduper deduper;
  ExpectAsByMap(deduper, std::vector<Key>(5000, 1));
  ExpectAsByMap(deduper, RandomKeys(100000, 1ULL << 63, 4));
}

TEST(Deduper, AllocatesNothingInASteadyState) {
  Deduper deduper;
  const std::vector<Key> keys = RandomKeys(4096, 1000, 9);
  deduper.Run(keys);
  const Key* unique = deduper.unique().data();
  const int32_t* inverse = deduper.inverse().data();
  for (int i = 0; i < 5; ++i) {
    deduper.Run(RandomKeys(4096, 1000, 10 + static_cast<uint64_t>(i)));
    EXPECT_EQ(deduper.unique().data(), unique);
    EXPECT_EQ(deduper.inverse().data(), inverse);
  }
}

}  // namespace
}  // namespace hotrow
