// The keys that benchmarks ask for. bench/workload.py draws the same ones: a peer in Python and a
// program in C++ work on the same batches.
//
//   uniform                      every key of 0 .. rows-1 alike
//   zipf0.8, zipf1.05, zipf1.2   the key of rank k with a probability that goes with k^-exponent;
//                                the ranks are spread over the keys, so hot rows are not neighbours
//
// Draw i of a seed is a pure function of both, so every run sees the same keys.
//
// Thread safety: a KeySource serves one thread. Bounds: 8 bytes of memory a row for Zipf.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/key.h"

namespace hotrow::bench {

class KeySource {
 public:
  // Nothing unless `name` is uniform, or zipf and an exponent. rows >= 1.
  static std::optional<KeySource> Named(const std::string& name, int64_t rows, uint64_t seed) {
    if (name == "uniform") return KeySource(rows, seed, {});
    if (name.rfind("zipf", 0) != 0) return std::nullopt;
    char* end = nullptr;
    const double exponent = std::strtod(name.c_str() + 4, &end);
    if (*end != '\0' || exponent <= 0) return std::nullopt;
    return KeySource(rows, seed, Cumulated(rows, exponent));
  }

  // The next n keys of 0 .. rows-1.
  std::vector<Key> Draw(int64_t n) {
    std::vector<Key> keys(static_cast<size_t>(n));
    for (Key& key : keys) key = KeyAt(Uniform());
    return keys;
  }

 private:
  // A prime: ranks times it, modulo a number of rows that it does not divide, visit every key once.
  static constexpr uint64_t kSpread = 2654435761;

  KeySource(int64_t rows, uint64_t seed, std::vector<double> cumulated)
      : rows_(static_cast<uint64_t>(rows)),
        start_(MixKey(seed)),
        cumulated_(std::move(cumulated)) {}

  static std::vector<double> Cumulated(int64_t rows, double exponent) {
    std::vector<double> cumulated;
    double sum = 0.0;
    for (int64_t rank = 1; rank <= rows; ++rank) {
      sum += std::pow(static_cast<double>(rank), -exponent);
      cumulated.push_back(sum);
    }
    return cumulated;
  }

  // In [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(MixKey(start_ + draws_++) >> 11) * 0x1p-53; }

  Key KeyAt(double uniform) const {
    if (cumulated_.empty()) return static_cast<Key>(uniform * static_cast<double>(rows_));
    const double wanted = uniform * cumulated_.back();
    const auto at = std::upper_bound(cumulated_.begin(), cumulated_.end(), wanted);
    const auto rank = std::min<uint64_t>(static_cast<uint64_t>(at - cumulated_.begin()), rows_ - 1);
    return rank * kSpread % rows_;
  }

  uint64_t rows_;
  uint64_t start_;
  uint64_t draws_ = 0;
  std::vector<double> cumulated_;  // (rows) sums of the ranks' weights; none when uniform
};

}  // namespace hotrow::bench
