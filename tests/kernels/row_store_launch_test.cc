// The launches of a device's row store, on the recording device: the same slots, records and
// evicted rows as the host's store, on one thread and on several.

#include "kernels/row_store/row_store_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/row_store/set_resize.h"
#include "tests/conformance/row_values.h"
#include "tests/kernels/host_store.h"
#include "tests/kernels/recording_device.h"

namespace hotrow::testing {
namespace {

constexpr uint64_t kSeed = 41;
constexpr uint64_t kSalt = 7;

// A device's store whose memory is vectors.
class DeviceStore {
 public:
  DeviceStore(const RowLayout& layout, int slots_per_set, int64_t sets, int64_t capacity_sets)
      : digests_(static_cast<size_t>(capacity_sets * slots_per_set)),
        keys_(digests_.size()),
        scores_(digests_.size()),
        pins_(static_cast<size_t>(capacity_sets)),
        records_(digests_.size() * static_cast<size_t>(layout.row_bytes / 16)) {
    index.digests = digests_.data();
    index.keys = keys_.data();
    index.scores = scores_.data();
    index.pins = pins_.data();
    index.records = reinterpret_cast<std::byte*>(records_.data());
    index.row_bytes = layout.row_bytes;
    index.table_salt = kSalt;
    index.slots_per_set = slots_per_set;
    index.SetCount(sets);
  }

  // Stores a row as the host's store has it.
  void Put(Key key, Slot slot, const std::vector<std::byte>& record) {
    index.digests[slot] = index.CandidatesOf(key).digest;
    index.keys[slot] = key;
    std::copy(record.begin(), record.end(), index.record(slot));
  }

  int64_t rows() const {
    return static_cast<int64_t>(digests_.size()) -
           std::count(digests_.begin(), digests_.end(), kEmptyDigest);
  }
  bool NothingIsPinned() const {
    return std::all_of(pins_.begin(), pins_.end(), [](uint64_t pins) { return pins == 0; });
  }

  SlotIndexView index;

 private:
  std::vector<uint8_t> digests_;
  std::vector<Key> keys_;
  std::vector<uint32_t> scores_;
  std::vector<uint64_t> pins_;
  std::vector<RecordWord> records_;
};

// One batch of FindOrClaim and its memory.
struct Claim {
  Claim(const DeviceStore& store, const std::vector<Key>& batch_keys, std::vector<uint64_t>* words)
      : keys(batch_keys),
        slots(keys.size() + 1),
        states(keys.size() + 1),
        waiting_in(static_cast<size_t>(ClaimChunks(static_cast<int64_t>(keys.size()))) + 1),
        evicted(keys.size() + 1),
        evicted_keys(keys.size() + 1),
        evicted_records((keys.size() + 1) * static_cast<size_t>(store.index.row_bytes / 16)) {
    view.index = store.index;
    view.batch = {keys.data(), slots.data(), states.data()};
    view.n = static_cast<int64_t>(keys.size());
    view.reservations = {words->data(), words->size() - 1, 0};
    view.waiting_in = waiting_in.data();
    view.totals = &totals;
    view.rows_before = store.rows();
    view.evicted = {evicted.data(), evicted_keys.data(),
                    reinterpret_cast<std::byte*>(evicted_records.data())};
  }

  std::vector<Key> keys;
  std::vector<Slot> slots;
  std::vector<uint8_t> states;
  std::vector<uint32_t> waiting_in;
  std::vector<uint8_t> evicted;
  std::vector<Key> evicted_keys;
  std::vector<RecordWord> evicted_records;
  ClaimTotals totals;
  DeviceClaim view;
};

class RowStoreLaunch : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    team_ = *ThreadTeam::Create(GetParam());
    record_.team = team_.get();
    stream_ = *device_.OpenStream();
  }

  std::unique_ptr<ThreadTeam> team_;
  DeviceRecord record_;
  RecordingDevice device_{record_};
  std::unique_ptr<DeviceStream> stream_;
};

struct Shape {
  FullPolicy policy = FullPolicy::kRefuse;
  int slots_per_set = 32;
  int64_t sets = 1;
  int64_t batch_keys = 0;
};

// A host's store at its limit and the same rows on the device; then batches on both.
template <int kSlots>
class TwoStores {
 public:
  TwoStores(const Shape& shape, DeviceStream& stream)
      : shape_(shape),
        stream_(stream),
        host_(HostStore<kSlots>::Create(Options(shape), budget_)),
        device_(Layout(), kSlots, shape.sets, shape.sets),
        words_(64) {}

  // Fills the host's store until it has all its sets, then copies it.
  void Start() {
    while (host_.slots() < shape_.sets * kSlots) Host(RandomKeys(kSlots));
    std::vector<Key> keys;
    std::vector<Slot> slots;
    int64_t cursor = 0;
    host_.Scan(&cursor, int64_t{1} << 30, &keys, &slots);
    for (size_t i = 0; i < keys.size(); ++i) device_.Put(keys[i], slots[i], host_.Read(slots[i]));
  }

  void Batch() {
    const std::vector<Key> keys = RandomKeys(shape_.batch_keys);
    Claim claim(device_, keys, &words_);
    claim.view.reservations.round = round_;
    ASSERT_TRUE(LaunchFindOrClaim(stream_, shape_.policy, &claim.view).ok());
    round_ = claim.view.reservations.round;
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    RowBlock evicted;
    const ClaimCounts counts = host_.FindOrClaim(keys, slots, created, &evicted);
    claim.slots.resize(keys.size());
    claim.states.resize(keys.size());
    ASSERT_EQ(claim.slots, slots);
    ASSERT_EQ(claim.states, created);
    ASSERT_EQ(claim.totals.created, counts.created);
    ASSERT_EQ(claim.totals.waiting, counts.refused);
    ASSERT_EQ(claim.totals.evicted, counts.evicted);
    ExpectSameEvicted(claim, evicted);
    ASSERT_TRUE(device_.NothingIsPinned());
    ASSERT_EQ(device_.rows(), host_.rows());
    Fill(keys, slots);
    ExpectSameRows();
  }

 private:
  static RowLayout Layout() { return RowLayout::Of(3, 2); }
  static RowStoreOptions Options(const Shape& shape) {
    RowStoreOptions options;
    options.layout = Layout();
    options.table_salt = kSalt;
    options.slots_per_set = kSlots;
    options.max_slots = shape.sets * kSlots;
    options.full_policy = shape.policy;
    return options;
  }

  std::vector<Key> RandomKeys(int64_t count) {
    const auto space = static_cast<uint64_t>(shape_.sets * kSlots * 3);
    std::vector<Key> keys;
    for (int64_t i = 0; i < count; ++i) keys.push_back(MixKey(random_() % space));
    return keys;
  }

  void Host(const std::vector<Key>& keys) {
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    RowBlock evicted;
    host_.FindOrClaim(keys, slots, created, &evicted);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slots[i] != kNoSlot) host_.Write(slots[i], RecordOf(Layout(), keys[i]));
    }
  }

  void Fill(const std::vector<Key>& keys, const std::vector<Slot>& slots) {
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slots[i] == kNoSlot) continue;
      const std::vector<std::byte> record = RecordOf(Layout(), keys[i]);
      const auto score = static_cast<uint32_t>(random_() % 8);
      host_.Write(slots[i], record);
      host_.SetScores({&slots[i], 1}, score);
      std::copy(record.begin(), record.end(), device_.index.record(slots[i]));
      device_.index.scores[slots[i]] = score;
    }
  }

  void ExpectSameEvicted(const Claim& claim, const RowBlock& expected) const {
    RowBlock evicted;
    const auto row_bytes = static_cast<size_t>(Layout().row_bytes);
    for (size_t i = 0; i < claim.keys.size(); ++i) {
      if (shape_.policy == FullPolicy::kRefuse || claim.evicted[i] == 0) continue;
      evicted.keys.push_back(claim.evicted_keys[i]);
      const std::byte* const record = claim.view.evicted.records + i * row_bytes;
      evicted.records.insert(evicted.records.end(), record, record + row_bytes);
    }
    ASSERT_EQ(evicted.keys, expected.keys);
    ASSERT_EQ(evicted.records, expected.records);
  }

  void ExpectSameRows() const {
    std::vector<Key> keys;
    std::vector<Slot> slots;
    int64_t cursor = 0;
    host_.Scan(&cursor, int64_t{1} << 30, &keys, &slots);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_NE(device_.index.digests[slots[i]], kEmptyDigest);
      ASSERT_EQ(device_.index.keys[slots[i]], keys[i]);
      const std::byte* const record = device_.index.record(slots[i]);
      ASSERT_EQ(std::vector<std::byte>(record, record + Layout().row_bytes), host_.Read(slots[i]));
    }
  }

  const Shape shape_;
  DeviceStream& stream_;
  MemoryBudget budget_{int64_t{1} << 30};
  std::mt19937_64 random_{kSeed};
  HostStore<kSlots> host_;
  DeviceStore device_;
  std::vector<uint64_t> words_;
  uint32_t round_ = 0;
};

template <int kSlots>
void ExpectSameAsHost(const Shape& shape, DeviceStream& stream) {
  SCOPED_TRACE(::testing::Message() << kSlots << " slots, " << shape.sets << " sets, batch "
                                    << shape.batch_keys << ", seed " << kSeed);
  TwoStores<kSlots> stores(shape, stream);
  stores.Start();
  for (int batch = 0; batch < 8; ++batch) {
    stores.Batch();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(RowStoreLaunch, ClaimsTheSlotsOfTheHostUntilItRefuses) {
  for (const int64_t batch : {1, 31, 32, 33, 700, 3000}) {
    ExpectSameAsHost<32>({FullPolicy::kRefuse, 32, 44, batch}, *stream_);
    ExpectSameAsHost<4>({FullPolicy::kRefuse, 4, 352, batch}, *stream_);
  }
}

TEST_P(RowStoreLaunch, EvictsTheRowsOfTheHost) {
  for (const int64_t batch : {1, 33, 700, 3000}) {
    ExpectSameAsHost<32>({FullPolicy::kEvictLowestScore, 32, 44, batch}, *stream_);
    ExpectSameAsHost<64>({FullPolicy::kEvictLowestScore, 64, 20, batch}, *stream_);
    ExpectSameAsHost<32>({FullPolicy::kEvictLowestScore, 32, 1, batch}, *stream_);
  }
}

// Claims `keys`, all of which fit, and writes their records.
void Store(DeviceStream& stream, const std::vector<Key>& keys, const RowLayout& layout,
           DeviceStore* store) {
  std::vector<uint64_t> words(256);
  Claim claim(*store, keys, &words);
  ASSERT_TRUE(LaunchFindOrClaim(stream, FullPolicy::kRefuse, &claim.view).ok());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_NE(claim.slots[i], kNoSlot);
    const std::vector<std::byte> record = RecordOf(layout, keys[i]);
    std::copy(record.begin(), record.end(), store->index.record(claim.slots[i]));
  }
}

TEST_P(RowStoreLaunch, FindsCopiesScoresAndErases) {
  const RowLayout layout = RowLayout::Of(5, 3);
  for (const int64_t n : {0, 1, 31, 32, 33, 1000}) {
    DeviceStore store(layout, 32, 64, 64);
    const std::vector<Key> stored = Keys(0, n);
    Store(*stream_, stored, layout, &store);
    const std::vector<Key> keys = Keys(n / 2, n);  // half of them are unknown
    std::vector<Slot> slots(keys.size() + 1);
    const DeviceKeys batch{keys.data(), slots.data(), n};
    std::vector<float> values(keys.size() * 5 + 1, -77.0F);
    std::vector<RowPointer> rows(keys.size() + 1);
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[i] = AsRow(static_cast<void*>(&values[i * 5]));
    }
    ASSERT_TRUE(LaunchFindAndCopy(*stream_, store.index, batch, rows.data(), 5).ok());
    std::vector<float> again = std::move(values);
    values.assign(again.size(), -77.0F);
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[i] = AsRow(static_cast<void*>(&values[i * 5]));
    }
    ASSERT_TRUE(LaunchFind(*stream_, store.index, batch).ok());
    ASSERT_TRUE(LaunchCopyWeights(*stream_, store.index, batch, rows.data(), 5).ok());
    ASSERT_EQ(values, again);
    std::vector<std::byte*> records(keys.size() + 1);
    ASSERT_TRUE(LaunchRecordAddresses(*stream_, store.index, batch, records.data()).ok());
    ASSERT_TRUE(LaunchSetScores(*stream_, store.index, batch, 9).ok());
    int64_t known = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool is_known = static_cast<int64_t>(i) < n - n / 2;
      known += is_known ? 1 : 0;
      ASSERT_EQ(slots[i] != kNoSlot, is_known);
      ASSERT_EQ(records[i], is_known ? store.index.record(slots[i]) : nullptr);
      for (int64_t c = 0; c < 5; ++c) {
        ASSERT_EQ(values[i * 5 + static_cast<size_t>(c)], is_known ? ValueOf(keys[i], c) : -77.0F);
      }
      if (is_known) {
        ASSERT_EQ(store.index.scores[slots[i]], 9U);
      }
    }
    // A key that stands twice leaves once.
    std::vector<Key> twice = keys;
    twice.insert(twice.end(), keys.begin(), keys.end());
    slots.resize(twice.size() + 1);
    int64_t removed = -1;
    ASSERT_TRUE(
        LaunchErase(*stream_, store.index, {twice.data(), slots.data(), 2 * n}, &removed).ok());
    ASSERT_EQ(removed, known);
    ASSERT_EQ(store.rows(), n - known);
  }
}

TEST_P(RowStoreLaunch, GrowsLevelByLevelAsTheHostDoesSetBySet) {
  const RowLayout layout = RowLayout::Of(2, 0);
  DeviceStore device(layout, 4, 3, 200);
  DeviceStore host(layout, 4, 3, 200);
  int64_t stored = 0;
  for (const int64_t sets : {3, 4, 5, 33, 200}) {
    ASSERT_TRUE(LaunchGrow(*stream_, sets, &device.index).ok());
    while (host.index.sets < sets) SplitIntoNewSet(HostTile<1>(), &host.index);
    ASSERT_EQ(device.index.sets, sets);
    ASSERT_EQ(device.index.set_mask, host.index.set_mask);
    const std::vector<Key> added = Keys(stored, 2 * sets - stored);  // to half of the slots
    Store(*stream_, added, layout, &device);
    Store(*stream_, added, layout, &host);
    stored = 2 * sets;
    for (Slot slot = 0; slot < sets * 4; ++slot) {
      ASSERT_EQ(device.index.digests[slot], host.index.digests[slot]) << slot;
      if (host.index.digests[slot] == kEmptyDigest) continue;
      ASSERT_EQ(device.index.keys[slot], host.index.keys[slot]);
      ASSERT_EQ(std::memcmp(device.index.record(slot), host.index.record(slot), 32), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, RowStoreLaunch, ::testing::Values(1, 4));

}  // namespace
}  // namespace hotrow::testing
