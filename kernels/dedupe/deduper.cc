#include <algorithm>
#include <bit>

#include "kernels/base/check.h"
#include "kernels/dedupe/dedupe.h"

namespace hotrow {
namespace {

// Keys hashed and prefetched together: enough misses in flight to hide the latency of a cache level
// (bench/kernel_bench.cc).
constexpr int64_t kBatch = 64;

constexpr int64_t kMaxKeys = (int64_t{1} << 31) - 1;

}  // namespace

void Deduper::StartTable(int64_t expected_unique) {
  const auto entries = std::bit_ceil(static_cast<uint64_t>(2 * (expected_unique + kBatch)));
  if (table_.size() < entries) table_.resize(entries);
  std::fill_n(table_.begin(), entries, -1);
  mask_ = entries - 1;
}

void Deduper::DoubleTable() {
  StartTable(static_cast<int64_t>(mask_ + 1) - kBatch);
  for (int64_t i = 0; i < count_; ++i) {
    uint64_t at = MixKey(unique_[static_cast<size_t>(i)]) & mask_;
    while (table_[at] >= 0) at = (at + 1) & mask_;
    table_[at] = static_cast<int32_t>(i);
  }
}

inline int32_t Deduper::FindOrAdd(Key key, uint64_t hash) {
  for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
    const int32_t index = table_[at];
    if (index < 0) {
      unique_[static_cast<size_t>(count_)] = key;
      return table_[at] = static_cast<int32_t>(count_++);
    }
    if (unique_[static_cast<size_t>(index)] == key) return index;
  }
}

void Deduper::Run(std::span<const Key> keys, std::optional<Key> skip) {
  const auto n = static_cast<int64_t>(keys.size());
  HOTROW_CHECK(n <= kMaxKeys);
  // Batches resemble each other: a table sized by the last one's unique keys stays small, and with
  // it in the cache. It doubles when this batch has more of them.
  const int64_t expected = count_ == 0 ? n : std::min(n, count_ + count_ / 4);
  StartTable(expected);
  count_ = 0;
  n_ = n;
  if (unique_.size() < keys.size()) unique_.resize(keys.size());
  if (inverse_.size() < keys.size()) inverse_.resize(keys.size());

  const bool skips = skip.has_value();
  const Key skipped = skip.value_or(0);
  uint64_t hashes[kBatch];
  for (int64_t begin = 0; begin < n; begin += kBatch) {
    const int64_t size = std::min(kBatch, n - begin);
    if (2 * (count_ + size) > static_cast<int64_t>(mask_ + 1)) DoubleTable();
    const Key* batch = keys.data() + begin;
    for (int64_t i = 0; i < size; ++i) hashes[i] = MixKey(batch[i]);
    for (int64_t i = 0; i < size; ++i) __builtin_prefetch(&table_[hashes[i] & mask_], 1);
    int32_t* out = inverse_.data() + begin;
    for (int64_t i = 0; i < size; ++i) {
      out[i] = skips && batch[i] == skipped ? kSkippedPosition : FindOrAdd(batch[i], hashes[i]);
    }
  }
}

}  // namespace hotrow
