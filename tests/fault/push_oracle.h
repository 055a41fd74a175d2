// The oracle of exactly-once: SGD with rate 1 and gradients of whole numbers, so that a weight is
// minus the sum of what was applied, and the sum is exact below 2^24.
//
// A row has two columns: each push takes 1 off the first, and a number of its own off the second. A
// push that was lost and another one that came twice cannot make up for each other in both.
//
// Thread safety: one thread; Add merges what another thread has noted. Ownership: a value.

#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/key.h"

namespace hotrow::testing {

class PushOracle {
 public:
  static constexpr int64_t kDim = 2;
  static constexpr float kMostWeight = 16777216.0F;  // 2^24

  // What the rows of a table say about the pushes to it.
  struct Verdict {
    int64_t lost = 0;   // pushes of a key that were not applied
    int64_t twice = 0;  // and that were applied once too often
    int64_t wrong_rows = 0;
    int64_t keys = 0;          // that were pushed
    float highest_sum = 0.0F;  // of the second column: exact below kMostWeight

    bool good() const { return lost == 0 && twice == 0 && wrong_rows == 0; }
  };

  explicit PushOracle(int64_t keys) : pushes_(keys), sums_(keys) {}

  int64_t size() const { return static_cast<int64_t>(pushes_.size()); }
  // Key number i: spread over all partitions.
  static Key KeyOf(int64_t i) { return MixKey(static_cast<Key>(i) + 1); }
  // The own number of push `id`.
  static float NumberOf(uint64_t id) { return static_cast<float>(MixKey(id) % 97 + 1); }

  // Push `id` was made of these keys, each once.
  void Note(uint64_t id, const std::vector<int64_t>& keys);
  void Add(const PushOracle& other);
  // `rows` (size(), kDim): the weights of all keys, in their order.
  Verdict Judge(const std::vector<float>& rows) const;

 private:
  std::vector<int64_t> pushes_;  // (keys) how many had the key
  std::vector<int64_t> sums_;    // (keys) of their numbers
};

}  // namespace hotrow::testing
