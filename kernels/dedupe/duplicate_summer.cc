#include "kernels/dedupe/dedupe.h"

namespace hotrow {

void DuplicateSummer::Run(const SumInput& input, float* sums) {
  const auto n = static_cast<int64_t>(input.inverse.size());
  blocks_.Start(sums, input.unique_count, input.rows.dim, n);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t target = input.inverse[static_cast<size_t>(i)];
    if (target == kSkippedPosition) continue;
    const int64_t from = input.source.empty() ? i : input.source[static_cast<size_t>(i)];
    const ConstRowPointer row = input.rows.rows[static_cast<size_t>(from)];
    if (input.weights.empty()) {
      blocks_.Add(target, [row](int64_t c) { return row[c].value; });
    } else {
      const float weight = input.weights[static_cast<size_t>(i)];
      blocks_.Add(target, [row, weight](int64_t c) { return weight * row[c].value; });
    }
  }
  blocks_.Finish();
}

}  // namespace hotrow
