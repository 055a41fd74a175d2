// Random operations on a row store against std::unordered_map.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "tests/conformance/row_values.h"
#include "tests/kernels/host_store.h"

namespace hotrow::testing {
namespace {

constexpr uint64_t kSeeds[] = {1, 2, 3};
constexpr int kOperations = 400;
constexpr int64_t kMaxSlots = 1408;  // 44 sets of 32: no power of two

template <typename Store>
class Model {
 public:
  Model(FullPolicy policy, uint64_t seed)
      : policy_(policy), random_(seed), store_(Store::Create(Options(policy), budget_)) {}

  void Run() {
    for (int operation = 0; operation < kOperations; ++operation) {
      SCOPED_TRACE("operation " + std::to_string(operation));
      // The number of keys in play swells and ebbs, so the store grows, fills up and shrinks.
      key_space_ = operation / 50 % 2 == 0 ? 3000 : 300;
      switch (random_() % 8) {
        case 0:
          Erase(random_() % 400);
          break;
        case 1:
          Score(random_() % 100);
          break;
        case 2:
          CheckAll();
          break;
        default:
          Claim(random_() % (random_() % 8 == 0 ? 2500 : 150));
          break;
      }
      ASSERT_EQ(store_.rows(), static_cast<int64_t>(rows_.size()));
      ASSERT_EQ(store_.allocated_bytes(), budget_.used_bytes());
      ASSERT_LE(store_.slots(), kMaxSlots);
      if (::testing::Test::HasFatalFailure()) return;
    }
    CheckAll();
  }

 private:
  static RowStoreOptions Options(FullPolicy policy) {
    RowStoreOptions options;
    options.layout = RowLayout::Of(3, 2);
    options.table_salt = 7;
    options.slots_per_set = Store::kSlotsPerSet;
    options.max_slots = kMaxSlots;
    options.full_policy = policy;
    return options;
  }

  std::vector<Key> RandomKeys(size_t count) {
    std::set<Key> keys;
    const size_t wanted = std::min<size_t>(count, static_cast<size_t>(key_space_) / 2);
    while (keys.size() < wanted) {
      const uint64_t i = random_() % static_cast<uint64_t>(key_space_);
      keys.insert(i < SpecialKeys().size() ? SpecialKeys()[i] : MixKey(i));
    }
    std::vector<Key> order(keys.begin(), keys.end());
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  void Claim(size_t count) {
    const std::vector<Key> keys = RandomKeys(count);
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size(), 9);
    RowBlock evicted;
    const ClaimCounts counts = store_.FindOrClaim(keys, slots, created, &evicted);
    TakeEvicted(keys, evicted);
    ClaimCounts expected;
    expected.evicted = static_cast<int64_t>(evicted.keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto row = rows_.find(keys[i]);
      const bool known = row != rows_.end();
      ASSERT_EQ(created[i], !known && slots[i] != kNoSlot ? 1 : 0);
      if (known) {
        ASSERT_NE(slots[i], kNoSlot);
        ASSERT_EQ(store_.Read(slots[i]), RecordOf(layout_, row->second));
      } else if (slots[i] != kNoSlot) {
        ASSERT_EQ(store_.Read(slots[i]),
                  std::vector<std::byte>(static_cast<size_t>(layout_.row_bytes)));
      }
      known ? ++expected.found : slots[i] == kNoSlot ? ++expected.refused : ++expected.created;
    }
    ASSERT_EQ(counts.found, expected.found);
    ASSERT_EQ(counts.created, expected.created);
    ASSERT_EQ(counts.refused, expected.refused);
    ASSERT_EQ(counts.evicted, expected.evicted);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slots[i] == kNoSlot) continue;
      rows_[keys[i]] = ++version_;
      store_.Write(slots[i], RecordOf(layout_, version_));
    }
  }

  void TakeEvicted(const std::vector<Key>& batch, const RowBlock& evicted) {
    ASSERT_TRUE(policy_ == FullPolicy::kEvictLowestScore || evicted.keys.empty());
    const std::set<Key> own(batch.begin(), batch.end());
    const auto row_bytes = static_cast<size_t>(layout_.row_bytes);
    ASSERT_EQ(evicted.records.size(), evicted.keys.size() * row_bytes);
    for (size_t i = 0; i < evicted.keys.size(); ++i) {
      const auto row = rows_.find(evicted.keys[i]);
      ASSERT_TRUE(row != rows_.end());
      ASSERT_EQ(own.count(evicted.keys[i]), 0U);
      const std::byte* const record = evicted.records.data() + i * row_bytes;
      ASSERT_EQ(std::vector<std::byte>(record, record + row_bytes), RecordOf(layout_, row->second));
      rows_.erase(row);
    }
  }

  void Erase(size_t count) {
    const std::vector<Key> keys = RandomKeys(count);
    int64_t expected = 0;
    for (const Key key : keys) expected += static_cast<int64_t>(rows_.erase(key));
    ASSERT_EQ(store_.Erase(keys), expected);
  }

  void Score(size_t count) {
    const std::vector<Key> keys = RandomKeys(count);
    std::vector<Slot> slots(keys.size());
    store_.Find(keys, slots);
    store_.SetScores(slots, static_cast<uint32_t>(random_()));
  }

  void CheckAll() {
    std::vector<Key> keys;
    for (int64_t i = 0; i < 3000; ++i) keys.push_back(MixKey(static_cast<uint64_t>(i)));
    for (const Key key : SpecialKeys()) keys.push_back(key);
    std::vector<Slot> slots(keys.size());
    store_.Find(keys, slots);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto row = rows_.find(keys[i]);
      ASSERT_EQ(slots[i] != kNoSlot, row != rows_.end());
      if (slots[i] == kNoSlot) continue;
      ASSERT_EQ(store_.Read(slots[i]), RecordOf(layout_, row->second));
    }
  }

  const FullPolicy policy_;
  std::mt19937_64 random_;
  MemoryBudget budget_{int64_t{1} << 26};
  Store store_;
  const RowLayout layout_ = RowLayout::Of(3, 2);
  std::unordered_map<Key, uint64_t> rows_;  // key -> version: the record holds RecordOf(version)
  uint64_t version_ = 0;
  int64_t key_space_ = 0;
};

template <typename Store>
void RunSeeds(FullPolicy policy) {
  for (const uint64_t seed : kSeeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model<Store>(policy, seed).Run();
  }
}

template <typename Store>
class RowStoreModel : public ::testing::Test {};
// Slots per set, tile width, threads.
using Stores = ::testing::Types<HostStore<4>, HostStore<32>, HostStore<4, 32>, HostStore<32, 8>,
                                HostStore<4, 8, 3>, HostStore<32, 1, 4>>;
TYPED_TEST_SUITE(RowStoreModel, Stores);

TYPED_TEST(RowStoreModel, Refusing) { RunSeeds<TypeParam>(FullPolicy::kRefuse); }
TYPED_TEST(RowStoreModel, Evicting) { RunSeeds<TypeParam>(FullPolicy::kEvictLowestScore); }

}  // namespace
}  // namespace hotrow::testing
