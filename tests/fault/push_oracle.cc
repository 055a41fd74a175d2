#include "tests/fault/push_oracle.h"

#include <algorithm>

namespace hotrow::testing {

void PushOracle::Note(uint64_t id, const std::vector<int64_t>& keys) {
  for (const int64_t key : keys) {
    ++pushes_[key];
    sums_[key] += static_cast<int64_t>(NumberOf(id));
  }
}

void PushOracle::Add(const PushOracle& other) {
  for (size_t i = 0; i < pushes_.size(); ++i) {
    pushes_[i] += other.pushes_[i];
    sums_[i] += other.sums_[i];
  }
}

PushOracle::Verdict PushOracle::Judge(const std::vector<float>& rows) const {
  Verdict verdict;
  for (size_t i = 0; i < pushes_.size(); ++i) {
    const float applied = 0.0F - rows[i * kDim];
    const float sum = 0.0F - rows[i * kDim + 1];
    const auto missing = pushes_[i] - static_cast<int64_t>(applied);
    verdict.lost += std::max<int64_t>(missing, 0);
    verdict.twice += std::max<int64_t>(-missing, 0);
    if (missing != 0 || sum != static_cast<float>(sums_[i])) ++verdict.wrong_rows;
    if (pushes_[i] > 0) ++verdict.keys;
    verdict.highest_sum = std::max(verdict.highest_sum, static_cast<float>(sums_[i]));
  }
  return verdict;
}

}  // namespace hotrow::testing
