#include "kernels/initializers/initializer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/base/check.h"
#include "kernels/initializers/initial_value.h"

namespace hotrow {
namespace {

// Columns drawn together, so that each stage is a vector loop over the block.
constexpr int64_t kBlock = 64;

// No quantile that 53 bits can ask for lies further out: it is 8.3 at p = 2^-54.
constexpr double kFarthestQuantile = 9.0;

constexpr Result Refuse(const char* message) { return {Code::kInvalidArgument, message}; }

// The largest float32 below a finite value.
float NextBelow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value == 0.0F) return -std::numeric_limits<float>::denorm_min();
  return std::bit_cast<float>(value > 0.0F ? bits - 1 : bits + 1);
}

// Calls draw(bits, size, out) for blocks of at most kBlock columns of a row.
template <typename Draw>
void FillRow(uint64_t stream, Key key, int64_t dim, RowPointer row, const Draw& draw) {
  const uint64_t mixed_key = MixKey(key);
  uint64_t bits[kBlock];
  for (int64_t begin = 0; begin < dim; begin += kBlock) {
    const int64_t size = std::min(kBlock, dim - begin);
    for (int64_t c = 0; c < size; ++c) bits[c] = InitialBits(stream, mixed_key, begin + c);
    draw(bits, size, row + begin);
  }
}

// The rows of a batch: by `draw_block` in blocks of columns where a tile has one lane, by the body
// of every space where it has more.
template <typename Draw, typename DrawBlock>
void FillRows(const HostSpace& space, const InitialRowStage<Draw>& stage, int64_t n,
              const DrawBlock& draw_block) {
  space.ForEach(n, [&](const auto& tile, int64_t i) {
    if constexpr (std::decay_t<decltype(tile)>::kWidth == 1) {
      FillRow(stage.stream, stage.keys[i], stage.dim, stage.rows[i], draw_block);
    } else {
      stage(tile, i);
    }
  });
}

// The same values as NormalQuantile column by column, in loops that vectorise: the centre's formula
// for all of them, then the tails (15 %) gathered, transformed and put back.
void DrawNormal(double mean, double deviation, const uint64_t* bits, int64_t size, RowPointer out) {
  double q[kBlock];
  double z[kBlock];
  double tail[kBlock];
  int32_t column[kBlock];
  for (int64_t c = 0; c < size; ++c) q[c] = CentredProbability(bits[c]);
  for (int64_t c = 0; c < size; ++c) z[c] = NormalQuantileCentre(q[c]);
  int32_t tails = 0;
  for (int32_t c = 0; c < size; ++c) {
    tail[tails] = 0.5 - std::abs(q[c]);
    column[tails] = c;
    tails += std::abs(q[c]) > kNormalCentre ? 1 : 0;
  }
  for (int32_t t = 0; t < tails; ++t) tail[t] = NormalTailRoot(tail[t]);
  for (int32_t t = 0; t < tails; ++t) {
    const double r = tail[t];
    const double distance = NormalQuantileOfRoot(r);
    z[column[t]] = q[column[t]] < 0.0 ? -distance : distance;
  }
  for (int64_t c = 0; c < size; ++c) out[c] = static_cast<float>(mean + deviation * z[c]);
}

template <typename Draw>
void DrawEach(const Draw& draw, const uint64_t* bits, int64_t size, RowPointer out) {
  for (int64_t c = 0; c < size; ++c) out[c] = draw(bits[c]);
}

}  // namespace

UniformValue UniformValueOf(const Initializer& initializer) {
  const float low = initializer.a;
  const float high = initializer.b;
  return {low, high - low, high, low < high ? NextBelow(high) : low};
}

NormalValue NormalValueOf(const Initializer& initializer) {
  return {double{initializer.a}, double{initializer.b}};
}

Result ValidateInitializer(const Initializer& initializer) {
  const double a = initializer.a;
  const double b = initializer.b;
  switch (initializer.kind) {
    case InitializerKind::kZeros:
      return {};
    case InitializerKind::kConstant:
      return std::isfinite(a) ? Result() : Refuse("constant: value must be finite");
    case InitializerKind::kUniform:
      if (!std::isfinite(a)) return Refuse("uniform: low must be finite");
      if (!std::isfinite(b)) return Refuse("uniform: high must be finite");
      if (a > b) return Refuse("uniform: low must not be greater than high");
      if (!std::isfinite(initializer.b - initializer.a)) {
        return Refuse("uniform: high - low must be a finite float32");
      }
      return {};
    case InitializerKind::kNormal:
      if (!std::isfinite(a)) return Refuse("normal: mean must be finite");
      if (!std::isfinite(b) || b < 0.0) {
        return Refuse("normal: standard_deviation must be finite and not negative");
      }
      if (std::abs(a) + kFarthestQuantile * b > std::numeric_limits<float>::max()) {
        return Refuse("normal: mean + 9 standard_deviation must be a finite float32");
      }
      return {};
  }
  return Refuse("initializer: unknown kind");
}

void InitializeRows(const HostSpace& space, const Initializer& initializer,
                    std::span<const Key> keys, const RowsView& rows) {
  HOTROW_CHECK(keys.size() == rows.rows.size());
  const auto n = static_cast<int64_t>(keys.size());
  const auto fill = [&](const auto& draw, const auto& draw_block) {
    FillRows(space,
             InitialRowStage<std::decay_t<decltype(draw)>>{draw, InitialStream(initializer),
                                                           rows.dim, keys.data(), rows.rows.data()},
             n, draw_block);
  };
  const auto fill_each = [&](const auto& draw) {
    fill(draw, [draw](const uint64_t* bits, int64_t size, RowPointer out) {
      DrawEach(draw, bits, size, out);
    });
  };
  switch (initializer.kind) {
    case InitializerKind::kZeros:
      return fill_each(ConstantValue{0.0F});
    case InitializerKind::kConstant:
      return fill_each(ConstantValue{initializer.a});
    case InitializerKind::kUniform:
      return fill_each(UniformValueOf(initializer));
    case InitializerKind::kNormal: {
      const NormalValue value = NormalValueOf(initializer);
      return fill(value, [value](const uint64_t* bits, int64_t size, RowPointer out) {
        DrawNormal(value.mean, value.deviation, bits, size, out);
      });
    }
  }
}

void InitializeRows(const Initializer& initializer, std::span<const Key> keys,
                    const RowsView& rows) {
  InitializeRows(HostSpace(), initializer, keys, rows);
}

}  // namespace hotrow
