#include "client/python/src/pooled_bags.h"

#include <string>
#include <utility>

#include "client/python/src/worker_threads.h"
#include "kernels/base/position.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/status_codec.h"

namespace hotrow::python {

namespace {

absl::Status Refused(const std::string& message) {
  return wire::ToStatus({.kind = wire::ErrorKind::kInvalidArgument,
                         .message = message,
                         .hint = "Let offsets[i] be where bag i starts in input: they begin with 0 "
                                 "and do not decrease."});
}

}  // namespace

absl::Status CheckOffsets(std::span<const int64_t> offsets, int64_t key_count) {
  if (offsets.empty()) return Refused("offsets must not be empty");
  if (offsets[0] != 0) {
    return Refused("offsets[0] must be 0, not " + std::to_string(offsets[0]));
  }
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] > key_count) {
      return Refused("offsets[" + std::to_string(i) + "] = " + std::to_string(offsets[i]) +
                     " is outside 0 .. " + std::to_string(key_count) + ", the number of keys");
    }
    if (offsets[i] < offsets[i - 1]) {
      return Refused("offsets must not decrease, but offsets[" + std::to_string(i) + "] = " +
                     std::to_string(offsets[i]) + " follows " + std::to_string(offsets[i - 1]));
    }
  }
  if (offsets.back() != key_count) {
    return Refused("with include_last_offset the last offset must be the number of keys, " +
                   std::to_string(key_count) + ", not " + std::to_string(offsets.back()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PooledBags>> PooledBags::Forward(const Table& table,
                                                                const BagsInput& input,
                                                                std::span<float> out) {
  absl::Status checked = CheckOffsets(input.offsets, static_cast<int64_t>(input.keys.size()));
  if (!checked.ok()) return checked;
  auto batch = table.PullBatch(input.keys, input.padding, input.pull);
  if (!batch.ok()) return batch.status();
  return Of(*std::move(batch), input, out);
}

std::unique_ptr<PooledBags> PooledBags::Of(std::shared_ptr<PulledBatch> batch,
                                           const BagsInput& input, std::span<float> out) {
  std::unique_ptr<PooledBags> pooled(new PooledBags);
  pooled->mode_ = input.mode;
  pooled->threads_ = input.threads;
  pooled->batch_ = std::move(batch);
  pooled->offsets_.assign(input.offsets.begin(), input.offsets.end());
  pooled->weights_.assign(input.weights.begin(), input.weights.end());
  if (input.mode == PoolingMode::kMax) pooled->argmax_.resize(out.size());
  WithThreads(input.threads, [&](const HostSpace& space) {
    PoolForward(space, pooled->View(), pooled->batch_->rows(), out.data(), pooled->argmax_);
  });
  return pooled;
}

BagsView PooledBags::View() const {
  return {
      .mode = mode_, .offsets = offsets_, .positions = batch_->positions(), .weights = weights_};
}

std::vector<float> PooledBags::InverseFrequencies() const {
  std::vector<int64_t> counts(unique_keys().size(), 0);
  for (const int32_t position : batch_->positions()) {
    if (position != kSkippedPosition) ++counts[position];
  }
  std::vector<float> factors(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) factors[i] = 1.0F / static_cast<float>(counts[i]);
  return factors;
}

void PooledBags::Backward(std::span<const float> out_gradient, GradientScale scale,
                          std::span<float> row_gradients) const {
  std::vector<float> factors;
  if (scale == GradientScale::kInverseFrequency) factors = InverseFrequencies();
  const PoolGradient gradient{.out_gradient = out_gradient.data(),
                              .dim = dim(),
                              .argmax = argmax_,
                              .row_scale = factors,
                              .unique_count = static_cast<int64_t>(unique_keys().size())};
  WithThreads(threads_, [&](const HostSpace& space) {
    PoolBackward(space, View(), gradient, row_gradients.data());
  });
}

void PooledBags::BackwardWeights(std::span<const float> out_gradient,
                                 std::span<float> weight_gradients) const {
  const PoolGradient gradient{.out_gradient = out_gradient.data(),
                              .dim = dim(),
                              .argmax = {},
                              .row_scale = {},
                              .unique_count = static_cast<int64_t>(unique_keys().size())};
  WithThreads(threads_, [&](const HostSpace& space) {
    PoolBackwardWeights(space, View(), gradient, batch_->rows(), weight_gradients.data());
  });
}

}  // namespace hotrow::python
