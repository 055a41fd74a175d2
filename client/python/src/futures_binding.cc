#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <cstring>
#include <utility>

#include "client/python/src/arrays.h"
#include "client/python/src/bindings.h"
#include "client/python/src/futures.h"
#include "client/python/src/raise.h"
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

void WaitForRows(PendingPull& pending, double timeout_seconds, OutputArray<float, 2> rows) {
  const auto timeout = ToMilliseconds(timeout_seconds);
  absl::Status status;
  {
    nb::gil_scoped_release release;
    auto batch = pending.Wait(timeout);
    status = batch.status();
    if (status.ok()) ScatterRows(**batch, SpanOf(rows));
  }
  RaiseIfError(status);
}

std::pair<int64_t, int64_t> WaitForCounts(PendingPush& pending, double timeout_seconds) {
  const auto timeout = ToMilliseconds(timeout_seconds);
  absl::StatusOr<PushCounts> counts;
  {
    nb::gil_scoped_release release;
    counts = pending.Wait(timeout);
  }
  const PushCounts value = ValueOrRaise(std::move(counts));
  return {value.rows_updated, value.rows_created};
}

}  // namespace

void BindFutures(nb::module_& module) {
  nb::class_<PendingPull>(module, "PendingPull")
      .def("ready", &PendingPull::ready)
      .def("wait", &WaitForRows, nb::arg("timeout"), nb::arg("rows"));
  nb::class_<PendingPush>(module, "PendingPush")
      .def("ready", &PendingPush::ready)
      .def("wait", &WaitForCounts, nb::arg("timeout"));
}

}  // namespace hotrow::python
