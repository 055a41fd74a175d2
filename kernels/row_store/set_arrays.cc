#include "kernels/row_store/set_arrays.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hotrow {
namespace {

constexpr int64_t kSmallGranule = int64_t{16} << 10;
constexpr int64_t kLargeGranule = int64_t{2} << 20;  // a huge page
// Of one store: leaves address space for dozens of stores of the largest size.
constexpr int64_t kMaxReservedBytes = int64_t{4} << 40;

int64_t RoundUp(int64_t bytes, int64_t granule) {
  return (bytes + granule - 1) / granule * granule;
}

// About a sixteenth of the array, so that neither the waste nor the number of commits gets large.
int64_t GranuleFor(int64_t bytes, int64_t limit_bytes) {
  int64_t granule = kSmallGranule;
  while (granule < kLargeGranule && granule * 16 < bytes) granule *= 2;
  return std::max(std::min(granule, limit_bytes), ReservedMemory::PageBytes());
}

}  // namespace

SetArrays::SetArrays(SetArrays&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)),
      set_bytes_(other.set_bytes_),
      max_sets_(other.max_sets_),
      arrays_(std::move(other.arrays_)) {}

SetArrays::~SetArrays() {
  if (budget_ != nullptr) budget_->GiveBack(committed_bytes());
}

ResultOr<SetArrays> SetArrays::Reserve(int slots_per_set, int64_t row_bytes, int64_t max_sets,
                                       MemoryBudget& budget) {
  SetArrays arrays(budget);
  const int64_t slots = slots_per_set;
  arrays.set_bytes_ = {slots, slots * static_cast<int64_t>(sizeof(Key)),
                       slots * static_cast<int64_t>(sizeof(uint32_t)),
                       static_cast<int64_t>(sizeof(uint64_t)), slots * row_bytes};
  const int64_t all_bytes =
      std::accumulate(arrays.set_bytes_.begin(), arrays.set_bytes_.end(), int64_t{0});
  const int64_t most_bytes = std::min(budget.limit_bytes(), kMaxReservedBytes);
  int64_t sets = std::max(int64_t{1}, std::min(max_sets, most_bytes / all_bytes));
  Result reserved = arrays.ReserveSets(sets);
  while (!reserved.ok() && sets > kFewestSets) {
    sets = std::max(sets / 2, kFewestSets);
    reserved = arrays.ReserveSets(sets);
  }
  if (!reserved.ok()) return reserved;
  return arrays;
}

Result SetArrays::ReserveSets(int64_t sets) {
  std::array<ReservedMemory, kArrays> memories;
  int64_t all_bytes = 0;
  for (int i = 0; i < kArrays; ++i) {
    const int64_t bytes = RoundUp(sets * set_bytes_[i], kLargeGranule);
    ResultOr<ReservedMemory> memory = ReservedMemory::Reserve(bytes);
    if (!memory.ok()) return memory.result();
    memories[i] = *std::move(memory);
    all_bytes += bytes;
  }
  // As much again must be left: a store may not take the last piece from the rest of the process.
  const ResultOr<ReservedMemory> spare = ReservedMemory::Reserve(all_bytes);
  if (!spare.ok()) return spare.result();
  arrays_ = std::move(memories);
  max_sets_ = sets;
  return {};
}

SetArrays::Sizes SetArrays::SizesFor(int64_t sets, int64_t granule_limit_bytes) const {
  Sizes sizes;
  for (int i = 0; i < kArrays; ++i) {
    const int64_t bytes = sets * set_bytes_[i];
    sizes[i] = RoundUp(bytes, GranuleFor(bytes, granule_limit_bytes));
  }
  return sizes;
}

bool SetArrays::CommitSizes(const Sizes& sizes) {
  Sizes before;
  Sizes after;
  for (int i = 0; i < kArrays; ++i) {
    before[i] = arrays_[i].committed_bytes();
    after[i] = std::max(before[i], sizes[i]);
  }
  const int64_t added = std::accumulate(after.begin(), after.end(), int64_t{0}) -
                        std::accumulate(before.begin(), before.end(), int64_t{0});
  if (!budget_->TryTake(added)) return false;
  for (int i = 0; i < kArrays; ++i) {
    if (arrays_[i].Commit(after[i])) continue;
    for (int j = 0; j < i; ++j) arrays_[j].Commit(before[j]);
    budget_->GiveBack(added);
    return false;
  }
  return true;
}

bool SetArrays::Grow(int64_t sets) {
  HOTROW_CHECK(sets <= max_sets_);
  bool enough = true;
  for (int i = 0; i < kArrays; ++i) {
    enough = enough && sets * set_bytes_[i] <= arrays_[i].committed_bytes();
  }
  // The last bytes of a budget are taken page by page.
  return enough || CommitSizes(SizesFor(sets, kLargeGranule)) || CommitSizes(SizesFor(sets, 0));
}

void SetArrays::Shrink(int64_t sets) {
  const Sizes sizes = SizesFor(sets, kLargeGranule);
  for (int i = 0; i < kArrays; ++i) {
    const int64_t unused = arrays_[i].committed_bytes() - sizes[i];
    if (unused <= GranuleFor(sizes[i], kLargeGranule)) continue;
    arrays_[i].Commit(sizes[i]);
    budget_->GiveBack(unused);
  }
}

void SetArrays::PointTo(SlotIndexView* view) const {
  view->digests = reinterpret_cast<uint8_t*>(arrays_[0].data());
  view->keys = reinterpret_cast<Key*>(arrays_[1].data());
  view->scores = reinterpret_cast<uint32_t*>(arrays_[2].data());
  view->pins = reinterpret_cast<uint64_t*>(arrays_[3].data());
  view->records = arrays_[4].data();
}

int64_t SetArrays::committed_bytes() const {
  int64_t bytes = 0;
  for (const ReservedMemory& array : arrays_) bytes += array.committed_bytes();
  return bytes;
}

}  // namespace hotrow
