#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "client/python/src/arrays.h"
#include "client/python/src/bindings.h"
#include "client/python/src/futures.h"
#include "client/python/src/raise.h"
#include "hotrow/interrupt.h"
#include "kernels/base/position.h"

namespace hotrow::python {

void ScatterRows(const PulledBatch& batch, std::span<float> rows) {
  const int64_t dim = batch.rows().dim;
  const size_t row_bytes = static_cast<size_t>(dim) * sizeof(float);
  float* target = rows.data();
  for (const int32_t position : batch.positions()) {
    if (position == kSkippedPosition) {
      std::memset(target, 0, row_bytes);
    } else {
      std::memcpy(target, batch.rows().rows[position], row_bytes);
    }
    target += dim;
  }
}

namespace {

using PendingPull = Future<std::shared_ptr<PulledBatch>>;
using PendingPush = Future<PushCounts>;

// The result of `pending`, or nothing when it is not there within the timeout, or a shard that it
// waits for has been away for too long. Between two looks
// and not in the midst of one, a signal may end the wait: the result then stays to be asked for.
template <typename T>
std::optional<T> ResultOf(Future<T>& pending, double timeout_seconds) {
  auto left = ToMilliseconds(timeout_seconds);
  while (true) {
    const auto slice = std::min(left, InterruptScope::kLookEvery);
    std::optional<absl::StatusOr<T>> result;
    {
      nb::gil_scoped_release release;
      result = pending.TryWait(slice);
    }
    if (result) return ValueOrRaise(*std::move(result));
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    left -= slice;
    if (left.count() == 0 || !pending.outage().ok()) return std::nullopt;
  }
}

bool WaitForRows(PendingPull& pending, double timeout_seconds, OutputArray<float, 2> rows) {
  const auto batch = ResultOf(pending, timeout_seconds);
  if (!batch) return false;
  nb::gil_scoped_release release;
  ScatterRows(**batch, SpanOf(rows));
  return true;
}

std::optional<std::pair<int64_t, int64_t>> WaitForCounts(PendingPush& pending,
                                                         double timeout_seconds) {
  const std::optional<PushCounts> counts = ResultOf(pending, timeout_seconds);
  if (!counts) return std::nullopt;
  return std::pair{counts->rows_updated, counts->rows_created};
}

template <typename Pending>
void RaiseOutage(const Pending& pending) {
  WithoutGil([&] { return pending.outage(); });
}

}  // namespace

void BindFutures(nb::module_& module) {
  nb::class_<PendingPull>(module, "PendingPull")
      .def("ready", &PendingPull::ready)
      .def("raise_outage", &RaiseOutage<PendingPull>)
      .def("wait", &WaitForRows, nb::arg("timeout"), nb::arg("rows").noconvert());
  nb::class_<PendingPush>(module, "PendingPush")
      .def("ready", &PendingPush::ready)
      .def("raise_outage", &RaiseOutage<PendingPush>)
      .def("wait", &WaitForCounts, nb::arg("timeout"));
}

}  // namespace hotrow::python
