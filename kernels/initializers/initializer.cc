#include "kernels/initializers/initializer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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

UniformValue MakeUniform(const Initializer& initializer) {
  const float low = initializer.a;
  const float high = initializer.b;
  return {low, high - low, high, low < high ? NextBelow(high) : low};
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

template <typename Draw>
void FillRows(const Initializer& initializer, std::span<const Key> keys, const RowsView& rows,
              const Draw& draw) {
  const uint64_t stream = MixKey(initializer.table_salt ^ initializer.seed);
  for (size_t i = 0; i < keys.size(); ++i) {
    FillRow(stream, keys[i], rows.dim, rows.rows[i], draw);
  }
}

void FillConstant(float value, const RowsView& rows) {
  for (const RowPointer row : rows.rows) {
    for (int64_t c = 0; c < rows.dim; ++c) row[c] = value;
  }
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

}  // namespace

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

void InitializeRows(const Initializer& initializer, std::span<const Key> keys,
                    const RowsView& rows) {
  HOTROW_CHECK(keys.size() == rows.rows.size());
  switch (initializer.kind) {
    case InitializerKind::kZeros:
      return FillConstant(0.0F, rows);
    case InitializerKind::kConstant:
      return FillConstant(initializer.a, rows);
    case InitializerKind::kUniform: {
      const UniformValue value = MakeUniform(initializer);
      return FillRows(initializer, keys, rows,
                      [value](const uint64_t* bits, int64_t size, RowPointer out) {
                        for (int64_t c = 0; c < size; ++c) out[c] = value(bits[c]);
                      });
    }
    case InitializerKind::kNormal:
      return FillRows(initializer, keys, rows,
                      [mean = double{initializer.a}, deviation = double{initializer.b}](
                          const uint64_t* bits, int64_t size, RowPointer out) {
                        DrawNormal(mean, deviation, bits, size, out);
                      });
  }
}

}  // namespace hotrow
