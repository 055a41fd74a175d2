// PooledBags: one pooled pull, from keys and bags to outputs, and what its backward pass needs.
//
// Thread safety: immutable after Forward. Ownership: keeps the received rows and copies of offsets
// and weights. Shapes: n keys, `bags` bags, u unique keys; outputs (bags, dim). Errors: bad bags
// are InvalidArgument before any call to a server; pull errors are the client's.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "hotrow/client.h"
#include "hotrow/pulled_batch.h"
#include "kernels/pooling/pooling.h"

namespace hotrow::python {

struct BagsInput {
  PoolingMode mode = PoolingMode::kSum;
  std::span<const Key> keys;         // (n)
  std::span<const int64_t> offsets;  // (bags + 1), the last one included
  std::span<const float> weights;    // (n) or empty; kSum only
  std::optional<Key> padding;        // neither pulled nor counted
  int threads = 1;                   // that share the pooling, forward and backward
  PullOptions pull;
};

// InvalidArgument that names the place and the value unless the offsets start at 0, never decrease
// and end at `key_count`.
absl::Status CheckOffsets(std::span<const int64_t> offsets, int64_t key_count);

enum class GradientScale : uint8_t { kNone, kInverseFrequency };

class PooledBags {
 public:
  // Writes out (bags, dim).
  static absl::StatusOr<std::unique_ptr<PooledBags>> Forward(const Table& table,
                                                             const BagsInput& input,
                                                             std::span<float> out);
  // The part of Forward that follows the pull; input.keys is not looked at, input.offsets is valid.
  static std::unique_ptr<PooledBags> Of(std::shared_ptr<PulledBatch> batch, const BagsInput& input,
                                        std::span<float> out);

  int64_t dim() const { return batch_->rows().dim; }
  int64_t bags() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t key_count() const { return static_cast<int64_t>(batch_->positions().size()); }
  std::span<const Key> unique_keys() const { return batch_->keys(); }  // (u)

  // row_gradients (u, dim) from out_gradient (bags, dim). kInverseFrequency divides each row's
  // gradient by the number of times that its key was asked for.
  void Backward(std::span<const float> out_gradient, GradientScale scale,
                std::span<float> row_gradients) const;
  // weight_gradients (n), from the rows as pulled.
  void BackwardWeights(std::span<const float> out_gradient,
                       std::span<float> weight_gradients) const;

 private:
  PooledBags() = default;
  BagsView View() const;
  std::vector<float> InverseFrequencies() const;

  PoolingMode mode_ = PoolingMode::kSum;
  int threads_ = 1;
  std::shared_ptr<PulledBatch> batch_;  // shared: the client's result type
  std::vector<int64_t> offsets_;
  std::vector<float> weights_;
  std::vector<int32_t> argmax_;  // (bags, dim), kMax only
};

}  // namespace hotrow::python
