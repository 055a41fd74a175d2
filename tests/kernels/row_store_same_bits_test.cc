// The same batches give the same slots, records, counts and evicted rows on every tile width and
// number of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "tests/conformance/row_values.h"
#include "tests/kernels/host_store.h"

namespace hotrow::testing {
namespace {

constexpr uint64_t kSeed = 20261130;

// Everything that a store answers, in order.
struct Answers {
  std::vector<Slot> slots;
  std::vector<uint8_t> created;
  std::vector<int64_t> counts;
  std::vector<Key> evicted_keys;
  std::vector<std::byte> records;

  bool operator==(const Answers&) const = default;
};

struct Case {
  FullPolicy policy = FullPolicy::kRefuse;
  int64_t max_slots = 0;
  int64_t key_space = 0;
  int64_t batch_keys = 0;
};

template <typename Store>
class Recorder {
 public:
  explicit Recorder(const Case& test)
      : case_(test), store_(Store::Create(Options(test), budget_)) {}

  Answers Run() {
    for (int batch = 0; batch < 12; ++batch) {
      Claim();
      if (batch % 3 == 2) Erase();
    }
    Dump();
    return std::move(answers_);
  }

 private:
  static RowStoreOptions Options(const Case& test) {
    RowStoreOptions options;
    options.layout = RowLayout::Of(3, 2);
    options.table_salt = 7;
    options.slots_per_set = Store::kSlotsPerSet;
    options.max_slots = test.max_slots;
    options.full_policy = test.policy;
    return options;
  }

  // Some repeat: a caller's mistake, but its outcome is the same everywhere too.
  std::vector<Key> RandomKeys(int64_t count) {
    std::vector<Key> keys;
    for (int64_t i = 0; i < count; ++i) {
      keys.push_back(MixKey(random_() % static_cast<uint64_t>(case_.key_space)));
    }
    return keys;
  }

  void Claim() {
    const std::vector<Key> keys = RandomKeys(case_.batch_keys);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    RowBlock evicted;
    const ClaimCounts counts = store_.FindOrClaim(keys, slots, created, &evicted);
    Append(slots, &answers_.slots);
    Append(created, &answers_.created);
    Append(evicted.keys, &answers_.evicted_keys);
    Append(evicted.records, &answers_.records);
    Append(std::vector<int64_t>{counts.found, counts.created, counts.refused, counts.evicted},
           &answers_.counts);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slots[i] == kNoSlot) continue;
      if (created[i] != 0) store_.Write(slots[i], RecordOf(Options(case_).layout, keys[i]));
      store_.SetScores({&slots[i], 1}, static_cast<uint32_t>(random_() % 8));
    }
  }

  void Erase() {
    answers_.counts.push_back(store_.Erase(RandomKeys(case_.batch_keys / 2)));
    answers_.counts.push_back(store_.slots());
  }

  void Dump() {
    std::vector<Key> keys;
    std::vector<Slot> slots;
    for (int64_t cursor = 0; cursor >= 0;) {
      store_.Scan(&cursor, 1000, &keys, &slots);
      Append(slots, &answers_.slots);
      for (const Slot slot : slots) Append(store_.Read(slot), &answers_.records);
    }
  }

  template <typename T>
  static void Append(const std::vector<T>& from, std::vector<T>* to) {
    to->insert(to->end(), from.begin(), from.end());
  }

  const Case case_;
  std::mt19937_64 random_{kSeed};
  MemoryBudget budget_{int64_t{1} << 30};
  Store store_;
  Answers answers_;
};

template <int kSlots, int kTileWidth, int kThreads>
void ExpectSame(const Case& test, const Answers& expected) {
  SCOPED_TRACE(::testing::Message() << kSlots << " slots a set, tile " << kTileWidth << ", "
                                    << kThreads << " threads, batch " << test.batch_keys);
  EXPECT_TRUE((Recorder<HostStore<kSlots, kTileWidth, kThreads>>(test).Run() == expected));
}

template <int kSlots>
void ExpectSameEverywhere(const Case& test) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const Answers expected = Recorder<HostStore<kSlots, 1, 1>>(test).Run();
  ASSERT_FALSE(expected.records.empty());
  ExpectSame<kSlots, 8, 1>(test, expected);
  ExpectSame<kSlots, 32, 1>(test, expected);
  ExpectSame<kSlots, 1, 2>(test, expected);
  ExpectSame<kSlots, 1, 5>(test, expected);
  ExpectSame<kSlots, 8, 3>(test, expected);
  ExpectSame<kSlots, 32, 4>(test, expected);
}

TEST(RowStoreSameBits, WhileTheStoreGrows) {
  for (const int64_t batch : {1, 31, 32, 33, 3000}) {
    const Case test{FullPolicy::kRefuse, int64_t{1} << 40, 4 * batch + 50, batch};
    ExpectSameEverywhere<4>(test);
    ExpectSameEverywhere<32>(test);
  }
}

TEST(RowStoreSameBits, WhenKeysAreRefused) {
  const Case test{FullPolicy::kRefuse, 44 * 32, 4000, 700};
  ExpectSameEverywhere<4>(test);
  ExpectSameEverywhere<32>(test);
}

TEST(RowStoreSameBits, WhenRowsAreEvicted) {
  const Case test{FullPolicy::kEvictLowestScore, 44 * 32, 6000, 1000};
  ExpectSameEverywhere<4>(test);
  ExpectSameEverywhere<32>(test);
  ExpectSameEverywhere<64>(test);
}

// All keys share one pair of sets: every one waits for all that come earlier.
TEST(RowStoreSameBits, WhenAllKeysMeetInOneSet) {
  ExpectSameEverywhere<64>({FullPolicy::kRefuse, 64, 3000, 500});
  ExpectSameEverywhere<32>({FullPolicy::kEvictLowestScore, 32, 3000, 500});
}

}  // namespace
}  // namespace hotrow::testing
