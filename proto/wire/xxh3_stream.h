// XXH3-64 of bytes that lie in several pieces.
//
// xxHash is compiled into our own code, for our own target: the library's build hashes half as fast
// (18 against 35 GB/s, see bench/codec_bench.cc), and verifying it is nearly all that decoding
// costs.
//
// Thread safety: values. Ownership: none.

#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hotrow::wire {

inline uint64_t Xxh3Of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

class Xxh3Stream {
 public:
  Xxh3Stream() { XXH3_64bits_reset(&state_); }

  void Add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  uint64_t Digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;  // 576 bytes, on the stack of the caller
};

}  // namespace hotrow::wire
