// The initial value of one column, from its 64 random bits: what every space calls per element.
//
// Thread safety: pure functions, on host and device.

#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/base/key.h"
#include "kernels/initializers/initializer.h"
#include "kernels/initializers/normal_quantile.h"

namespace hotrow {

// Random bits of a column. `stream` is MixKey(table_salt ^ seed), `mixed_key` is MixKey(key).
HOTROW_HOST_DEVICE constexpr uint64_t InitialBits(uint64_t stream, uint64_t mixed_key,
                                                  int64_t column) {
  return MixKey(stream ^ (mixed_key + static_cast<uint64_t>(column)));
}

// low + u x width with u the top 24 bits / 2^24; `below_high` is where rounding would reach high.
struct UniformValue {
  float low;
  float width;
  float high;
  float below_high;

  HOTROW_HOST_DEVICE float operator()(uint64_t bits) const {
    const float u = static_cast<float>(static_cast<int32_t>(bits >> 40)) * 0x1p-24F;
    const float value = low + u * width;
    return value < high ? value : below_high;
  }
};

// Signed distance q = p - 0.5 of p = (top 53 bits + 0.5) / 2^53 from the median. Exact, unlike p.
HOTROW_HOST_DEVICE inline double CentredProbability(uint64_t bits) {
  constexpr int64_t kMedian = int64_t{1} << 52;
  return (static_cast<double>(static_cast<int64_t>(bits >> 11) - kMedian) + 0.5) * 0x1p-53;
}

HOTROW_HOST_DEVICE inline double NormalQuantile(double q) {
  const double distance = q < 0.0 ? -q : q;
  if (distance <= kNormalCentre) return NormalQuantileCentre(q);
  const double tail = NormalQuantileOfRoot(NormalTailRoot(0.5 - distance));
  return q < 0.0 ? -tail : tail;
}

}  // namespace hotrow
