// Arrays on their way in and out of the module: borrowed on the way in, owned by a capsule on the
// way out.
//
// Thread safety: needs the GIL. Ownership: input views borrow from the Python object for the length
// of the call; ToNumpy hands the vector over to the array. Shapes: (n) keys, (n, dim) rows. All
// arrays are C-contiguous and on the CPU: hotrow/arrays.py sees to it and refuses everything else.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "kernels/base/key.h"

namespace hotrow::python {

namespace nb = nanobind;

template <typename T, int kDimensions>
using InputArray = nb::ndarray<const T, nb::ndim<kDimensions>, nb::c_contig, nb::device::cpu>;
template <typename T, int kDimensions>
using OutputArray = nb::ndarray<T, nb::ndim<kDimensions>, nb::c_contig, nb::device::cpu>;
using KeyArray = InputArray<Key, 1>;
using RowArray = InputArray<float, 2>;
template <typename T>
using NumpyArray = nb::ndarray<nb::numpy, T, nb::c_contig>;

template <typename Array>
auto SpanOf(const Array& array) {
  return std::span(array.data(), array.size());
}

// A NumPy array of `shape` over the vector's memory, without a copy.
template <typename T>
NumpyArray<T> ToNumpy(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NumpyArray<T>(owned->data(), shape, owner);
}

}  // namespace hotrow::python
