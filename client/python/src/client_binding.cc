#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>
#include <vector>

#include "client/python/src/arrays.h"
#include "client/python/src/bindings.h"
#include "client/python/src/raise.h"
#include "hotrow/client.h"

namespace hotrow::python {

namespace {

// Job, rank and world size of this worker.
using Worker = std::tuple<std::string, uint32_t, uint32_t>;
// Seconds: of each call, without a sign of life of a connection, and that a shard may be away.
using Times = std::tuple<std::optional<double>, double, double>;

std::shared_ptr<Client> Connect(std::vector<std::string> addresses,
                                std::map<std::string, std::string> address_map, Times times,
                                Worker worker) {
  ConnectOptions options{.addresses = std::move(addresses),
                         .address_map = std::move(address_map),
                         .timeout = ToMilliseconds(std::get<0>(times)),
                         .job = std::move(std::get<0>(worker)),
                         .rank = std::get<1>(worker),
                         .world_size = std::get<2>(worker),
                         .keepalive = ToMilliseconds(std::get<1>(times)),
                         .recovery_timeout = ToMilliseconds(std::get<2>(times))};
  return WithoutGil([&] { return Client::Connect(std::move(options)); });
}

// One table's part of a training step: table, keys (n), gradients (n, dim), options.
using TablePart = std::tuple<const Table*, KeyArray, RowArray, PushOptions>;

std::pair<int64_t, int64_t> PushTables(Client& client, const std::vector<TablePart>& parts) {
  std::vector<TablePush> pushes;
  pushes.reserve(parts.size());
  for (const auto& [table, keys, gradients, options] : parts) {
    pushes.push_back(
        {.table = table, .keys = SpanOf(keys), .gradients = SpanOf(gradients), .options = options});
  }
  const PushCounts counts = WithoutGil([&] { return client.PushTables(pushes); });
  return {counts.rows_updated, counts.rows_created};
}

nb::list StatusOf(Client& client) {
  std::vector<ShardStatus> shards;
  {
    const InterruptScope scope(&SignalHasRaised);
    nb::gil_scoped_release release;
    shards = client.Status();
  }
  RaiseIfError(absl::OkStatus());
  nb::list result;
  for (const ShardStatus& shard : shards) {
    nb::dict entry;
    entry["shard"] = shard.shard;
    entry["address"] = shard.address;
    entry["error"] = shard.status.ok() ? std::string() : std::string(shard.status.message());
    entry["version"] = shard.version;
    entry["state"] = shard.state;
    entry["uptime_ms"] = shard.uptime_ms;
    entry["memory_used_bytes"] = shard.memory_used_bytes;
    entry["memory_budget_bytes"] = shard.memory_budget_bytes;
    entry["sessions"] = shard.sessions;
    entry["pull_requests"] = shard.pull_requests;
    entry["push_requests"] = shard.push_requests;
    entry["sub_pushes_applied"] = shard.sub_pushes_applied;
    entry["sub_pushes_duplicate"] = shard.sub_pushes_duplicate;
    entry["requests_failed"] = shard.requests_failed;
    result.append(entry);
  }
  return result;
}

}  // namespace

void BindClient(nb::module_& module) {
  module.def("connect", &Connect, nb::arg("addresses"), nb::arg("address_map"), nb::arg("times"),
             nb::arg("worker"));
  nb::class_<Client>(module, "Client")
      .def(
          "create_table",
          [](Client& client, const TableSchema& schema, bool exist_ok) {
            return WithoutGil([&] { return client.CreateTable(schema, exist_ok); });
          },
          nb::arg("schema"), nb::arg("exist_ok"))
      .def(
          "open_table",
          [](Client& client, const std::string& name) {
            return WithoutGil([&] { return client.OpenTable(name); });
          },
          nb::arg("name"))
      .def("list_tables",
           [](Client& client) { return WithoutGil([&] { return client.ListTables(); }); })
      .def(
          "drop_table",
          [](Client& client, const std::string& name) {
            return WithoutGil([&] { return client.DropTable(name); });
          },
          nb::arg("name"))
      .def("push_tables", &PushTables, nb::arg("parts"))
      .def(
          "flush",
          [](Client& client, std::optional<double> timeout) {
            WithoutGil([&, wait = ToMilliseconds(timeout)] { return client.Flush(wait); });
          },
          nb::arg("timeout").none())
      .def("close", [](Client& client) { WithoutGil([&] { return client.Close(); }); })
      .def("status", &StatusOf)
      .def("shards", &Client::shards);
}

}  // namespace hotrow::python
