#include "kernels/dedupe/block_sums.h"

#include <algorithm>

namespace hotrow {

void BlockSums::Start(float* sums, int64_t targets, int64_t dim, int64_t addends) {
  sums_ = sums;
  dim_ = dim;
  block_count_ = 0;
  seen_.assign(static_cast<size_t>(targets), 0);
  if (later_block_.size() < seen_.size()) later_block_.resize(seen_.size());
  const auto block_values = static_cast<size_t>(addends / kSumBlock * dim);
  if (blocks_.size() < block_values) blocks_.resize(block_values);
}

float* BlockSums::LaterBlock(int32_t target, int32_t seen) {
  int32_t& index = later_block_[static_cast<size_t>(target)];
  if (seen == kSumBlock) index = block_count_++;
  float* block = blocks_.data() + index * dim_;
  if (seen % kSumBlock == 0 && seen > kSumBlock) {
    float* sum = sums_ + target * dim_;
    HOTROW_INDEPENDENT_LOOP
    for (int64_t c = 0; c < dim_; ++c) sum[c] += block[c];
  }
  return block;
}

void BlockSums::Finish() {
  for (size_t t = 0; t < seen_.size(); ++t) {
    float* sum = sums_ + static_cast<int64_t>(t) * dim_;
    if (seen_[t] == 0) {
      std::fill_n(sum, dim_, 0.0F);
    } else if (seen_[t] > kSumBlock) {
      const float* block = blocks_.data() + later_block_[t] * dim_;
      HOTROW_INDEPENDENT_LOOP
      for (int64_t c = 0; c < dim_; ++c) sum[c] += block[c];
    }
  }
}

}  // namespace hotrow
