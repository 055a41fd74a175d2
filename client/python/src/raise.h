// From absl::Status to the exceptions of hotrow/errors.py.
//
// Thread safety: needs the GIL. Errors: that is what it is for; these are the only functions of
// ours that throw, and only towards nanobind, which hands the exception to Python.

#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotrow/interrupt.h"

namespace hotrow::python {

// Raises what a signal handler has raised (Ctrl-C: KeyboardInterrupt), caused by `status` unless
// that is OK; otherwise the Python exception of a status that is not OK.
void RaiseIfError(const absl::Status& status);
// For InterruptScope: runs Python's signal handlers. True when one has raised, which stays set as
// this thread's exception until RaiseIfError.
bool SignalHasRaised();
// Raises hotrow.InvalidArgument: what is wrong, and what to do.
[[noreturn]] void RaiseInvalidArgument(const std::string& message, const std::string& hint);

template <typename T>
T ValueOrRaise(absl::StatusOr<T> result) {
  RaiseIfError(result.status());
  return *std::move(result);
}

// Runs `call` without the GIL; a signal ends its waits. Raises the status that it returns unless
// that is OK, and hands on the value of a StatusOr.
template <typename Call>
auto WithoutGil(Call&& call) {
  std::invoke_result_t<Call> result;
  {
    const InterruptScope scope(&SignalHasRaised);
    nanobind::gil_scoped_release release;
    result = call();
  }
  if constexpr (std::is_same_v<decltype(result), absl::Status>) {
    RaiseIfError(result);
  } else {
    return ValueOrRaise(std::move(result));
  }
}

// Seconds, as Python counts time, to the client's milliseconds; at least one, so that a short
// timeout does not become "none".
std::chrono::milliseconds ToMilliseconds(double seconds);
std::optional<std::chrono::milliseconds> ToMilliseconds(std::optional<double> seconds);

}  // namespace hotrow::python
