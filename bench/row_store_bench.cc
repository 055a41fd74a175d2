// How fast are pulls from a host row store whose rows are not in the cache?
//
// One thread, rows of 512 bytes, random stored keys in batches, weights copied to a reused reply
// buffer. M rows/s of processor time, in the lines of candidates.h, from one run:
//   row store           RowStore::Find + CopyWeights
//   absl map + memcpy   absl::flat_hash_map<key, row number> + memcpy from one array of rows, which
//                       lies in ordinary pages (as malloc gives them) or in huge pages (as ours)
//   memcpy              of the same bytes from one large array to the same buffer, in address order
//
// Usage: row_store_bench [rows [batch_keys [slots_per_set]]], default 4000000 8192 32. Needs about
// 1.7 KB of memory a row.

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bench/candidates.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "kernels/row_store/row_store.h"

namespace hotrow {
namespace {

constexpr int64_t kDim = 128;
constexpr int64_t kRowBytes = kDim * 4;
constexpr int kRounds = 7;
constexpr int kBatchesPerRound = 40;

Key KeyOf(int64_t i) { return MixKey(static_cast<uint64_t>(i) + 77); }

// The peer's rows, in ordinary pages as a vector would have them or in huge pages as ours.
struct PeerRows {
  enum class Pages { kOrdinary, kHuge };
  PeerRows(int64_t bytes, Pages pages)
      : data(static_cast<std::byte*>(std::aligned_alloc(kHugePage, RoundUp(bytes)))) {
    if (data == nullptr) std::abort();
    if (pages == Pages::kHuge) madvise(data, RoundUp(bytes), MADV_HUGEPAGE);
    std::memset(data, 1, static_cast<size_t>(bytes));
  }
  ~PeerRows() { std::free(data); }
  PeerRows(const PeerRows&) = delete;
  PeerRows& operator=(const PeerRows&) = delete;

  static constexpr size_t kHugePage = size_t{2} << 20;
  static size_t RoundUp(int64_t bytes) {
    return (static_cast<size_t>(bytes) + kHugePage - 1) / kHugePage * kHugePage;
  }
  std::byte* const data;
};

struct Batches {
  int64_t batch_keys;
  std::vector<Key> keys;         // (kBatchesPerRound, batch_keys)
  std::vector<std::byte> reply;  // (batch_keys, kRowBytes), first row at an odd address
  std::vector<RowPointer> rows;  // (batch_keys) into reply

  Batches(int64_t stored_rows, int64_t batch) : batch_keys(batch) {
    bench::KeySource source = *bench::KeySource::Named("uniform", stored_rows, 1);
    for (const Key row : source.Draw(kBatchesPerRound * batch)) {
      keys.push_back(KeyOf(static_cast<int64_t>(row)));
    }
    reply.resize(static_cast<size_t>(batch * kRowBytes + 1));
    for (int64_t i = 0; i < batch; ++i) rows.push_back(AsRow(reply.data() + 1 + i * kRowBytes));
  }
  std::span<const Key> Batch(int b) const {
    return std::span<const Key>(keys).subspan(static_cast<size_t>(b * batch_keys),
                                              static_cast<size_t>(batch_keys));
  }
  double RowsPerRound() const { return static_cast<double>(kBatchesPerRound * batch_keys); }
};

template <typename F>
void Time(const Batches& batches, std::vector<double>* rates, const F& run_batch) {
  const double start = bench::ThreadSeconds();
  for (int b = 0; b < kBatchesPerRound; ++b) run_batch(b);
  rates->push_back(batches.RowsPerRound() / (bench::ThreadSeconds() - start) / 1e6);
}

std::unique_ptr<RowStore> FilledStore(int64_t stored_rows, int slots_per_set,
                                      MemoryBudget& budget) {
  RowStoreOptions options;
  options.layout = RowLayout::Of(kDim, 0);
  options.table_salt = 0x1234;
  options.slots_per_set = slots_per_set;
  std::unique_ptr<RowStore> store = *RowStore::Create(options, budget);
  constexpr int64_t kBatch = 8192;
  const double start = bench::ThreadSeconds();
  for (int64_t begin = 0; begin < stored_rows; begin += kBatch) {
    std::vector<Key> keys;
    for (int64_t i = begin; i < std::min(begin + kBatch, stored_rows); ++i)
      keys.push_back(KeyOf(i));
    std::vector<Slot> slots(keys.size());
    std::vector<uint8_t> created(keys.size());
    store->FindOrClaim(keys, slots, created, nullptr);
    for (const Slot slot : slots) std::memset(store->record(slot), 1, kRowBytes);
  }
  std::printf("filled %lld rows: %.2f M rows/s, load %.3f, %.0f bytes/row\n",
              static_cast<long long>(stored_rows),
              static_cast<double>(stored_rows) / (bench::ThreadSeconds() - start) / 1e6,
              static_cast<double>(store->rows()) / static_cast<double>(store->slots()),
              static_cast<double>(store->allocated_bytes()) / static_cast<double>(stored_rows));
  return store;
}

using PeerMap = absl::flat_hash_map<Key, int64_t>;

void PullFromPeer(const PeerMap& peer, const std::byte* peer_rows, const Batches& batches, int b) {
  const std::span<const Key> keys = batches.Batch(b);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto row = peer.find(keys[i]);
    if (row == peer.end()) std::abort();
    std::memcpy(batches.rows[i], peer_rows + row->second * kRowBytes, kRowBytes);
  }
}

void Run(int64_t stored_rows, int64_t batch_keys, int slots_per_set) {
  MemoryBudget budget(int64_t{1} << 40);
  const std::unique_ptr<RowStore> store = FilledStore(stored_rows, slots_per_set, budget);
  Batches batches(stored_rows, batch_keys);

  PeerMap peer;
  peer.reserve(static_cast<size_t>(stored_rows));
  const PeerRows ordinary(stored_rows * kRowBytes, PeerRows::Pages::kOrdinary);
  const PeerRows huge(stored_rows * kRowBytes, PeerRows::Pages::kHuge);
  for (int64_t i = 0; i < stored_rows; ++i) peer.emplace(KeyOf(i), i);

  std::vector<Slot> slots(static_cast<size_t>(batch_keys));
  std::vector<double> store_rates, find_rates, peer_rates, huge_peer_rates, limit_rates;
  for (int round = 0; round < kRounds; ++round) {
    Time(batches, &store_rates, [&](int b) {
      store->Find(batches.Batch(b), slots);
      store->CopyWeights(slots, RowsView{batches.rows, kDim});
    });
    Time(batches, &find_rates, [&](int b) { store->Find(batches.Batch(b), slots); });
    Time(batches, &peer_rates, [&](int b) { PullFromPeer(peer, ordinary.data, batches, b); });
    Time(batches, &huge_peer_rates, [&](int b) { PullFromPeer(peer, huge.data, batches, b); });
    Time(batches, &limit_rates, [&](int b) {
      const int64_t begin =
          (b + round * kBatchesPerRound) * batch_keys % (stored_rows - batch_keys);
      std::memcpy(batches.reply.data(), huge.data + begin * kRowBytes,
                  static_cast<size_t>(batch_keys * kRowBytes));
    });
  }
  bench::PrintValues("row store", "pull", store_rates);
  bench::PrintValues("row store, find only", "pull", find_rates);
  bench::PrintValues("absl map + memcpy", "pull", peer_rates);
  bench::PrintValues("absl map + memcpy, huge pages", "pull", huge_peer_rates);
  bench::PrintValues("memcpy", "pull", limit_rates);
}

}  // namespace
}  // namespace hotrow

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 4000000;
  const int64_t batch_keys = argc > 2 ? std::atoll(argv[2]) : 8192;
  const int slots_per_set = argc > 3 ? std::atoi(argv[3]) : 32;
  if (rows <= batch_keys || batch_keys < 1) {
    std::fprintf(stderr, "rows must exceed batch_keys, and batch_keys be at least 1\n");
    return 2;
  }
  hotrow::Run(rows, batch_keys, slots_per_set);
  return 0;
}
