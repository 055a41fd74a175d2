// Rows of float32 that may lie at any byte address: rows are read straight from received network
// buffers, which promise no alignment.
//
// Thread safety: values and views. Ownership: views never own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/host_device.h"

namespace hotrow {

// In device code rows lie at 4-byte boundaries: a device reads anything else byte by byte.
#if defined(__CUDA_ARCH__)
#define HOTROW_ANY_ADDRESS
#else
#define HOTROW_ANY_ADDRESS __attribute__((packed, may_alias))
#endif

// A float at any byte address. A type of its own (an attribute on `float` would be lost in
// templates); reading through it is defined behaviour everywhere, and compilers vectorise loops
// over it with unaligned loads, at no cost on the processors that we build for.
struct HOTROW_ANY_ADDRESS UnalignedFloat {
  float value;

  HOTROW_HOST_DEVICE operator float() const { return value; }  // NOLINT: stands for a float
  HOTROW_HOST_DEVICE UnalignedFloat& operator=(float v) {
    value = v;
    return *this;
  }
};
static_assert(sizeof(UnalignedFloat) == 4);
#if !defined(__CUDA_ARCH__)
static_assert(alignof(UnalignedFloat) == 1);
#endif

// Address of a row of `dim` floats somewhere in a buffer that outlives the view.
using ConstRowPointer = const UnalignedFloat*;
using RowPointer = UnalignedFloat*;

// The same address as a row. `bytes` points to the row's first byte.
inline ConstRowPointer AsRow(const void* bytes) { return static_cast<ConstRowPointer>(bytes); }
inline RowPointer AsRow(void* bytes) { return static_cast<RowPointer>(bytes); }

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
