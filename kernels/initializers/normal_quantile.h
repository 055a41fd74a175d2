// Quantile of the standard normal distribution: Wichura's AS241, routine PPND16 (Applied Statistics
// 37, 1988), relative error about 1e-16, in +, -, x, / and sqrt only.
//
// PPND16 has three rational functions of degree 7: for the centre |q| <= 0.425 with q = p - 0.5,
// and for the two ranges of r = sqrt(-log(min(p, 1 - p))) in the tails. They are evaluated by
// Horner's rule from the highest power, each product rounded before it is added.
//
// Thread safety: pure functions, on host and device. Bits: equal wherever doubles are IEEE doubles
// and products are not contracted.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/base/host_device.h"

namespace hotrow {

// sum of c[i] x^i.
struct Polynomial7 {
  double c[8];

  HOTROW_HOST_DEVICE constexpr double operator()(double x) const {
    double value = c[7];
    for (int i = 6; i >= 0; --i) value = value * x + c[i];
    return value;
  }
};

inline constexpr double kNormalCentre = 0.425;

// Natural logarithm of a positive normal double, within two units in the last place.
//   x = m 2^e with m in (sqrt(1/2), sqrt(2)];  s = (m - 1) / (m + 1);
//   log x = e ln2 + 2 s (1 + s^2/3 + s^4/5 + ... + s^24/25)
// The terms are added from the smallest; ln2 is split so that e x its high part is exact.
HOTROW_HOST_DEVICE inline double NaturalLog(double x) {
  constexpr double kSqrt2 = 1.4142135623730951;
  constexpr double kLn2High = 6.93147180369123816490e-01;  // 21 zero bits at the end
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
  double mantissa;  // in [1, 2)
  std::memcpy(&mantissa, &bits, sizeof(mantissa));
  const bool is_high = mantissa > kSqrt2;
  const double m = is_high ? mantissa * 0.5 : mantissa;
  const double e = is_high ? exponent + 1.0 : exponent;
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 1.0 / 25.0;
  for (int odd = 23; odd >= 1; odd -= 2) series = series * s2 + 1.0 / odd;
  return e * kLn2High + (e * kLn2Low + 2.0 * s * series);
}

// Quantile at p = 0.5 + q for |q| <= kNormalCentre.
HOTROW_HOST_DEVICE inline double NormalQuantileCentre(double q) {
  constexpr Polynomial7 kNumerator{{3.3871328727963666080e0, 1.3314166789178437745e+2,
                                    1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                    4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                    3.3430575583588128105e+4, 2.5090809287301226727e+3}};
  constexpr Polynomial7 kDenominator{{1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2,
                                      5.3941960214247511077e+3, 2.1213794301586595867e+4,
                                      3.9307895800092710610e+4, 2.8729085735721942674e+4,
                                      5.2264952788528545610e+3}};
  const double r = 0.180625 - q * q;
  return q * kNumerator(r) / kDenominator(r);
}

// What the tails' formulas are functions of: sqrt(-log p), 0 < p < 0.5 - kNormalCentre.
HOTROW_HOST_DEVICE inline double NormalTailRoot(double p) { return std::sqrt(-NaturalLog(p)); }

// Minus the quantile at p, by r = NormalTailRoot(p): how far out the lower tail's point lies.
HOTROW_HOST_DEVICE inline double NormalQuantileOfRoot(double r) {
  constexpr Polynomial7 kNearNumerator{{1.42343711074968357734e0, 4.63033784615654529590e0,
                                        5.76949722146069140550e0, 3.64784832476320460504e0,
                                        1.27045825245236838258e0, 2.41780725177450611770e-1,
                                        2.27238449892691845833e-2, 7.74545014278341407640e-4}};
  constexpr Polynomial7 kNearDenominator{{1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                                          6.89767334985100004550e-1, 1.48103976427480074590e-1,
                                          1.51986665636164571966e-2, 5.47593808499534494600e-4,
                                          1.05075007164441684324e-9}};
  constexpr Polynomial7 kFarNumerator{{6.65790464350110377720e0, 5.46378491116411436990e0,
                                       1.78482653991729133580e0, 2.96560571828504891230e-1,
                                       2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                       2.71155556874348757815e-5, 2.01033439929228813265e-7}};
  constexpr Polynomial7 kFarDenominator{{1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                         1.48753612908506148525e-2, 7.86869131145613259100e-4,
                                         1.84631831751005468180e-5, 1.42151175831644588870e-7,
                                         2.04426310338993978564e-15}};
  if (r <= 5.0) return kNearNumerator(r - 1.6) / kNearDenominator(r - 1.6);
  return kFarNumerator(r - 5.0) / kFarDenominator(r - 5.0);
}

}  // namespace hotrow
