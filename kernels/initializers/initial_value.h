// The initial value of one column, from its 64 random bits, and of one row: what every space calls
// per element and per row.
//
//   Draw   float operator()(uint64_t bits) const
//
// Thread safety: pure functions, on host and device. Shapes: rows of `dim` float32.

#pragma once

#include <cstdint>

#include "kernels/base/float_row.h"
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

// The same value whatever the bits. Also for zeros.
struct ConstantValue {
  float value;

  HOTROW_HOST_DEVICE float operator()(uint64_t /*bits*/) const { return value; }
};

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

// Standard normal quantile at p = 0.5 + q, by the formula for where q lies.
HOTROW_HOST_DEVICE inline double NormalQuantile(double q) {
  const double distance = q < 0.0 ? -q : q;
  if (distance <= kNormalCentre) return NormalQuantileCentre(q);
  const double tail = NormalQuantileOfRoot(NormalTailRoot(0.5 - distance));
  return q < 0.0 ? -tail : tail;
}

// mean + deviation x the standard normal quantile, in double, rounded once.
struct NormalValue {
  double mean;
  double deviation;

  HOTROW_HOST_DEVICE float operator()(uint64_t bits) const {
    return static_cast<float>(mean + deviation * NormalQuantile(CentredProbability(bits)));
  }
};

// The values of `initializer` for its kind, whose fields are valid.
UniformValue UniformValueOf(const Initializer& initializer);
NormalValue NormalValueOf(const Initializer& initializer);

// What InitialBits takes beside a key.
constexpr uint64_t InitialStream(const Initializer& initializer) {
  return MixKey(initializer.table_salt ^ initializer.seed);
}

// The batch as a stage: the host draws its rows in vector loops over blocks of columns
// (initializer.cc), a device by a lane a column. Rows of a batch; all arrays (n). A row without a
// place (nullptr) is skipped.
template <typename Draw>
struct InitialRowStage {
  static constexpr const char* kName = "initialize_rows";
  Draw draw;
  uint64_t stream;
  int64_t dim;
  const Key* keys;
  const RowPointer* rows;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    const RowPointer row = rows[i];
    if (row == nullptr) return;
    const uint64_t mixed_key = MixKey(keys[i]);
    tile.ForEach(dim, [&](int64_t c) { row[c] = draw(InitialBits(stream, mixed_key, c)); });
  }
};

}  // namespace hotrow
