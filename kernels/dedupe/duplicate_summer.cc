#include "kernels/dedupe/dedupe.h"

namespace hotrow {
namespace {

// The sums of the targets begin .. end-1.
void SumRange(const SumInput& input, int64_t begin, int64_t end, BlockSums* blocks, float* sums) {
  const auto n = static_cast<int64_t>(input.inverse.size());
  blocks->Start(sums + begin * input.rows.dim, end - begin, input.rows.dim, n);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t target = input.inverse[static_cast<size_t>(i)];
    if (target < begin || target >= end) continue;  // another thread's, or skipped
    const auto own = static_cast<int32_t>(target - begin);
    const int64_t from = input.source.empty() ? i : input.source[static_cast<size_t>(i)];
    const ConstRowPointer row = input.rows.rows[static_cast<size_t>(from)];
    if (input.weights.empty()) {
      blocks->Add(own, [row](int64_t c) { return row[c].value; });
    } else {
      const float weight = input.weights[static_cast<size_t>(i)];
      blocks->Add(own, [row, weight](int64_t c) { return weight * row[c].value; });
    }
  }
  blocks->Finish();
}

}  // namespace

void DuplicateSummer::Run(const HostSpace& space, const SumInput& input, float* sums) {
  const auto threads = static_cast<size_t>(space.Threads(input.unique_count));
  if (blocks_.size() < threads) blocks_.resize(threads);
  space.ForParts(input.unique_count,
                 [&](const auto& /*tile*/, int part, int64_t begin, int64_t end) {
                   SumRange(input, begin, end, &blocks_[static_cast<size_t>(part)], sums);
                 });
}

}  // namespace hotrow
