#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <utility>

#include "client/python/src/arrays.h"
#include "client/python/src/bindings.h"
#include "client/python/src/raise.h"
#include "hotrow/client.h"

namespace hotrow::python {

namespace {

using Counts = std::pair<int64_t, int64_t>;  // rows updated, rows created

template <typename Call>
Counts CountsOf(Call&& call) {
  const PushCounts counts = WithoutGil(call);
  return {counts.rows_updated, counts.rows_created};
}

PullOptions PullOptionsOf(bool read_only, std::optional<double> timeout) {
  return {.read_only = read_only, .timeout = ToMilliseconds(timeout)};
}

void Pull(const Table& table, KeyArray keys, OutputArray<float, 2> rows, bool read_only,
          std::optional<double> timeout) {
  const PullOptions options = PullOptionsOf(read_only, timeout);
  WithoutGil([&] { return table.Pull(SpanOf(keys), SpanOf(rows), options); });
}

Future<std::shared_ptr<PulledBatch>> PullAsync(const Table& table, KeyArray keys, bool read_only,
                                               std::optional<double> timeout) {
  const PullOptions options = PullOptionsOf(read_only, timeout);
  nb::gil_scoped_release release;
  return table.PullBatchAsync(SpanOf(keys), std::nullopt, options);
}

PushOptions PushOptionsOf(std::optional<float> learning_rate, std::optional<uint64_t> step,
                          std::optional<double> timeout) {
  return {.learning_rate = learning_rate, .step = step, .timeout = ToMilliseconds(timeout)};
}

Counts Push(const Table& table, KeyArray keys, RowArray gradients, const PushOptions& options) {
  return CountsOf([&] { return table.Push(SpanOf(keys), SpanOf(gradients), options); });
}

Future<PushCounts> PushAsync(const Table& table, KeyArray keys, RowArray gradients,
                             const PushOptions& options) {
  nb::gil_scoped_release release;
  return table.PushAsync(SpanOf(keys), SpanOf(gradients), options);
}

Counts Upsert(const Table& table, KeyArray keys, RowArray rows) {
  return CountsOf([&] { return table.Upsert(SpanOf(keys), SpanOf(rows)); });
}

int64_t Remove(const Table& table, KeyArray keys) {
  return WithoutGil([&] { return table.Remove(SpanOf(keys)); });
}

// Copies one batch of a scan out of the received buffers and shows it to `visit`.
bool Visit(const nb::callable& visit, int64_t dim, std::span<const Key> keys,
           std::span<const float> rows, std::span<const float> state) {
  const size_t n = keys.size();
  auto key_array = ToNumpy(std::vector<Key>(keys.begin(), keys.end()), {n});
  auto row_array =
      ToNumpy(std::vector<float>(rows.begin(), rows.end()), {n, static_cast<size_t>(dim)});
  const size_t state_columns = n == 0 ? 0 : state.size() / n;
  auto state_array = ToNumpy(std::vector<float>(state.begin(), state.end()), {n, state_columns});
  return nb::cast<bool>(visit(std::move(key_array), std::move(row_array), std::move(state_array)));
}

// `stopped`: asked now and then while the scan waits; once it is true nobody wants more.
void Scan(const Table& table, int64_t batch_rows, bool with_state, nb::callable visit,
          nb::callable stopped) {
  std::exception_ptr raised;  // by `visit`; must not travel through the client
  const auto visitor = [&](std::span<const Key> keys, std::span<const float> rows,
                           std::span<const float> state) {
    nb::gil_scoped_acquire acquire;
    try {
      return Visit(visit, table.dim(), keys, rows, state);
    } catch (...) {
      raised = std::current_exception();
      return false;
    }
  };
  absl::Status status;
  {
    const InterruptScope scope([&stopped] {
      nb::gil_scoped_acquire acquire;
      return PyErr_CheckSignals() != 0 || nb::cast<bool>(stopped());
    });
    nb::gil_scoped_release release;
    status = table.Scan(batch_rows, with_state, visitor);
  }
  if (raised) std::rethrow_exception(raised);
  RaiseIfError(status);
}

nb::dict StatisticsOf(const TableStatistics& statistics) {
  nb::dict result;
  result["name"] = statistics.name;
  result["rows"] = statistics.rows;
  result["used_bytes"] = statistics.used_bytes;
  result["allocated_bytes"] = statistics.allocated_bytes;
  result["rows_pulled"] = statistics.rows_pulled;
  result["rows_pulled_initial"] = statistics.rows_pulled_initial;
  result["rows_pushed"] = statistics.rows_pushed;
  result["rows_created"] = statistics.rows_created;
  result["rows_refused"] = statistics.rows_refused;
  result["gradients_refused"] = statistics.gradients_refused;
  result["highest_step"] = statistics.highest_step;
  result["promotions"] = statistics.promotions;
  result["evictions"] = statistics.evictions;
  result["eviction_failures"] = statistics.eviction_failures;
  result["tier_read_failures"] = statistics.tier_read_failures;
  nb::dict tiers;
  for (const TierStatistics& tier : statistics.tiers) {
    nb::dict one;
    one["rows"] = tier.rows;
    one["used_bytes"] = tier.used_bytes;
    one["rows_pulled"] = tier.rows_pulled;
    tiers[tier.name.c_str()] = one;
  }
  result["tiers"] = tiers;
  return result;
}

}  // namespace

void BindTable(nb::module_& module) {
  nb::class_<PushOptions>(module, "PushOptions")
      .def(
          "__init__",
          [](PushOptions* self, std::optional<float> learning_rate, std::optional<uint64_t> step,
             std::optional<double> timeout) {
            new (self) PushOptions(PushOptionsOf(learning_rate, step, timeout));
          },
          nb::arg("learning_rate").none(), nb::arg("step").none(), nb::arg("timeout").none());
  nb::class_<Table>(module, "Table")
      .def("info", &Table::info)
      .def("pull", &Pull, nb::arg("keys"), nb::arg("rows").noconvert(), nb::arg("read_only"),
           nb::arg("timeout").none())
      .def("pull_async", &PullAsync, nb::arg("keys"), nb::arg("read_only"),
           nb::arg("timeout").none())
      .def("push", &Push, nb::arg("keys"), nb::arg("gradients"), nb::arg("options"))
      .def("push_async", &PushAsync, nb::arg("keys"), nb::arg("gradients"), nb::arg("options"))
      .def("upsert", &Upsert, nb::arg("keys"), nb::arg("rows"))
      .def("remove", &Remove, nb::arg("keys"))
      .def("size", [](const Table& table) { return WithoutGil([&] { return table.Size(); }); })
      .def("scan", &Scan, nb::arg("batch_rows"), nb::arg("with_state"), nb::arg("visit"),
           nb::arg("stopped"))
      .def("stats", [](const Table& table) {
        return StatisticsOf(WithoutGil([&] { return table.Stats(); }));
      });
}

}  // namespace hotrow::python
