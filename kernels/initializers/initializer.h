// Initial values: a pure function of (table salt, seed, key, column), with the same bits
// everywhere.
//
//   r       = MixKey(MixKey(salt ^ seed) ^ (MixKey(key) + column))          modulo 2^64
//   Uniform = low + u * (high - low) in float32, u = (r >> 40) / 2^24; where that rounds to high,
//             the float32 just below high. low when both are equal.
//   Normal  = mean + standard_deviation * z in double, rounded once to float32. z is the standard
//             normal quantile at p = ((r >> 11) + 0.5) / 2^53 by Wichura's AS241
//             (normal_quantile.h). p itself needs 54 bits: q = p - 0.5 = ((r >> 11) - 2^52 + 0.5) /
//             2^53 is exact, and so is the tail 0.5 - |q|; only these two are used.
//
// Thread safety: pure functions. Exactness: +, -, x, / and sqrt in IEEE arithmetic only; no libm,
// because it differs between host and device.

#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "kernels/base/result.h"
#include "kernels/space/host_space.h"

namespace hotrow {

enum class InitializerKind : uint8_t { kZeros, kConstant, kUniform, kNormal };

struct Initializer {
  InitializerKind kind = InitializerKind::kZeros;
  float a = 0.0F;  // kConstant: value; kUniform: low (inclusive); kNormal: mean
  float b = 0.0F;  // kUniform: high (exclusive); kNormal: standard deviation
  uint64_t table_salt = 0;
  uint64_t seed = 0;
};

// Refuses non-finite values, low > high, a negative deviation and whatever could give a value that
// is no finite float32, with a sentence that names the field.
Result ValidateInitializer(const Initializer& initializer);

// Writes the initial values of keys[i] to rows.rows[i], rows.dim columns each. Without a space, on
// the calling thread.
void InitializeRows(const HostSpace& space, const Initializer& initializer,
                    std::span<const Key> keys, const RowsView& rows);
void InitializeRows(const Initializer& initializer, std::span<const Key> keys,
                    const RowsView& rows);

}  // namespace hotrow
