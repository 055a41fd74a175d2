// ReservedMemory: one array at a fixed address that grows and shrinks in place: address space is
// reserved once, pages are committed and given back at its end.
//
// Thread safety: none; one owner. Ownership: move-only; the address space is released with it.
// Units: bytes, multiples of PageBytes(). Contents: committed bytes are zero until written, also
// after they were given back and committed again.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/result.h"

namespace hotrow {

class ReservedMemory {
 public:
  ReservedMemory() = default;
  ReservedMemory(ReservedMemory&& other) noexcept;
  ReservedMemory& operator=(ReservedMemory&& other) noexcept;
  ~ReservedMemory();

  // kUnavailable when the process has no such piece of address space left.
  static ResultOr<ReservedMemory> Reserve(int64_t bytes);

  // Makes the first `bytes` usable, no more and no less. False, and nothing changed, when the
  // system refuses; never when shrinking.
  bool Commit(int64_t bytes);

  static int64_t PageBytes();

  std::byte* data() const { return data_; }  // aligned to 2 MiB
  int64_t committed_bytes() const { return committed_bytes_; }

 private:
  void CollapseLastBlock(int64_t bytes) const;

  void* mapping_ = nullptr;
  int64_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  int64_t committed_bytes_ = 0;
};

}  // namespace hotrow
