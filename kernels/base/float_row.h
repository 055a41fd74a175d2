// Rows of float32 that may lie at any byte address: rows are read straight from received network buffers,
// which promise no alignment.
//
// Thread safety: values and views. Ownership: views never own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hotrow {

// A float that may be unaligned. Compilers vectorise loops over it with unaligned loads, at no cost on the
// processors that we build for; reading through it is defined behaviour at any address.
using UnalignedFloat __attribute__((aligned(1), may_alias)) = float;

// Address of a row of `dim` floats somewhere in a buffer that outlives the view.
using ConstRowPointer = const UnalignedFloat*;
using RowPointer = UnalignedFloat*;

// Rows addressed one by one. (n) pointers, each to `dim` floats.
struct ConstRowsView {
  std::span<const ConstRowPointer> rows;
  int64_t dim = 0;
};

// Rows to write, one by one. (n) pointers, each to `dim` floats.
struct RowsView {
  std::span<const RowPointer> rows;
  int64_t dim = 0;
};

}  // namespace hotrow
