#include "client/python/src/raise.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hotrow/errors.h"

namespace hotrow::python {

namespace nb = nanobind;

namespace {

nb::object ExceptionOf(const ErrorDetails& error, const std::vector<Key>& refused_keys) {
  const nb::object from_native = nb::module_::import_("hotrow.errors").attr("from_native");
  return from_native(static_cast<int>(error.kind), error.message, error.hint, error.table,
                     error.shard, refused_keys);
}

[[noreturn]] void Raise(const nb::object& exception) {
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

[[noreturn]] void RaiseSignal(const absl::Status& status) {
  nb::python_error raised;  // takes over what is set
  if (!status.ok()) {
    nb::object cause = ExceptionOf(DescribeError(status), RefusedKeys(status));
    PyException_SetCause(raised.value().ptr(), cause.release().ptr());
  }
  throw raised;
}

}  // namespace

void RaiseIfError(const absl::Status& status) {
  if (PyErr_Occurred() != nullptr) RaiseSignal(status);
  if (!status.ok()) Raise(ExceptionOf(DescribeError(status), RefusedKeys(status)));
}

bool SignalHasRaised() {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

void RaiseInvalidArgument(const std::string& message, const std::string& hint) {
  Raise(ExceptionOf(
      {.kind = ErrorKind::kInvalidArgument, .message = message, .hint = hint, .table = {}}, {}));
}

std::chrono::milliseconds ToMilliseconds(double seconds) {
  // A year is longer than any run and far from the range of the clock's counter.
  constexpr double kLongestSeconds = 365.0 * 24 * 3600;
  if (std::isnan(seconds) || seconds < 0) {
    RaiseInvalidArgument("timeout must be >= 0 seconds", "Leave it out for the default.");
  }
  const double bounded = std::min(seconds, kLongestSeconds);
  return std::chrono::milliseconds(std::max<int64_t>(1, std::llround(bounded * 1000)));
}

std::optional<std::chrono::milliseconds> ToMilliseconds(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  return ToMilliseconds(*seconds);
}

}  // namespace hotrow::python
