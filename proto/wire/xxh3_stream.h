// XXH3-64 of bytes that lie in several pieces.
//
// Thread safety: one stream at a time per thread (the state is the thread's). Ownership: none.

#pragma once

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
  Xxh3Stream();

  void Add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_, bytes.data(), bytes.size());
  }
  uint64_t Digest() const { return XXH3_64bits_digest(state_); }

 private:
  XXH3_state_t* state_;  // of this thread: allocated by the library, which alone knows its size
};

}  // namespace hotrow::wire
