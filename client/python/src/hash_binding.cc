#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string_view>
#include <utility>
#include <vector>

#include "client/python/src/arrays.h"
#include "client/python/src/bindings.h"
#include "client/python/src/raise.h"
#include "hotrow/client.h"

namespace hotrow::python {

namespace {

// The UTF-8 bytes of a str or the bytes of a bytes object; valid while the object lives.
std::string_view BytesOf(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      RaiseInvalidArgument("a value has no UTF-8 form: it holds half of a surrogate pair",
                           "It was decoded wrongly where it was read: see the encoding and errors "
                           "there.");
    }
    return {text, static_cast<size_t>(size)};
  }
  if (PyBytes_Check(value.ptr())) {
    return {PyBytes_AS_STRING(value.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(value.ptr()))};
  }
  RaiseInvalidArgument(
      std::string("hash_strings takes str or bytes, not ") + Py_TYPE(value.ptr())->tp_name,
      value.is_none() ? "Leave missing values out, or give them a text of their own."
                      : "Make text of each where they are made: str(value).");
}

NumpyArray<int64_t> HashSequence(const std::string& feature, const nb::list& values) {
  std::vector<int64_t> keys;
  keys.reserve(values.size());
  for (const nb::handle value : values) {
    keys.push_back(static_cast<int64_t>(HashString(feature, BytesOf(value))));
  }
  const size_t n = keys.size();
  return ToNumpy(std::move(keys), {n});
}

// Value i is data[offsets[i] .. offsets[i + 1]): the layout of Arrow's string arrays.
NumpyArray<int64_t> HashPacked(const std::string& feature, InputArray<uint8_t, 1> data,
                               InputArray<int64_t, 1> offsets) {
  const auto ends = SpanOf(offsets);
  std::vector<int64_t> keys;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    if (ends[i] < 0 || ends[i + 1] < ends[i] || ends[i + 1] > static_cast<int64_t>(data.size())) {
      RaiseInvalidArgument("string offsets must not decrease and must lie inside the data",
                           "The Arrow array is damaged: values.validate() says where.");
    }
    const std::string_view value(reinterpret_cast<const char*>(data.data()) + ends[i],
                                 static_cast<size_t>(ends[i + 1] - ends[i]));
    keys.push_back(static_cast<int64_t>(HashString(feature, value)));
  }
  const size_t n = keys.size();
  return ToNumpy(std::move(keys), {n});
}

NumpyArray<uint64_t> MixKeys(KeyArray keys, const std::string& table) {
  std::vector<uint64_t> hashes;
  hashes.reserve(keys.size());
  for (const Key key : SpanOf(keys)) hashes.push_back(MixKeyOfTable(key, table));
  const size_t n = hashes.size();
  return ToNumpy(std::move(hashes), {n});
}

}  // namespace

void BindHashes(nb::module_& module) {
  module.def("hash_sequence", &HashSequence, nb::arg("feature"), nb::arg("values"));
  module.def("hash_packed", &HashPacked, nb::arg("feature"), nb::arg("data"), nb::arg("offsets"));
  module.def("mix_keys", &MixKeys, nb::arg("keys"), nb::arg("table"));
}

}  // namespace hotrow::python
