// Initial values: a pure function of (table salt, seed, key, column), with the same bits
// everywhere.
//
//   r = MixKey(MixKey(salt ^ seed) ^ (MixKey(key) + column))
//   Uniform: top 24 bits of r;  Normal: top 53 bits through Wichura's AS241 (Applied Statistics 37,
//   1988)
//
// Thread safety: pure functions. Exactness: +, -, x, / and sqrt in IEEE arithmetic only; no libm,
// because it differs between host and device; the last step rounds to nearest float32.

#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "kernels/base/result.h"

namespace hotrow {

enum class InitializerKind : uint8_t { kZeros, kConstant, kUniform, kNormal };

struct Initializer {
  InitializerKind kind = InitializerKind::kZeros;
  float a = 0.0F;  // kConstant: value; kUniform: low (inclusive); kNormal: mean
  float b = 0.0F;  // kUniform: high (exclusive); kNormal: standard deviation
  uint64_t table_salt = 0;
  uint64_t seed = 0;
};

// Refuses non-finite values, low > high and a negative deviation with a sentence that names the
// field.
Result ValidateInitializer(const Initializer& initializer);

// Writes the initial values of keys[i] to rows.rows[i], rows.dim columns each.
void InitializeRows(const Initializer& initializer, std::span<const Key> keys,
                    const RowsView& rows);

}  // namespace hotrow
