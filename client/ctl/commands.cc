#include "client/ctl/commands.h"

#include <poll.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "hotrow/client.h"
#include "hotrow/errors.h"
#include "hotrow/pulled_batch.h"

namespace hotrow::ctl {
namespace {

absl::StatusOr<std::shared_ptr<Client>> Connect(const Arguments& arguments) {
  ConnectOptions options;
  options.addresses = {arguments.address};
  options.timeout = std::chrono::seconds(arguments.timeout_s);
  options.access = Access::kInspect;
  return Client::Connect(std::move(options));
}

std::string NameOf(const Optimizer& optimizer) {
  const char* const names[] = {"sgd", "adagrad", "rowwise_adagrad", "adam"};
  return names[optimizer.index()];
}

std::string NameOf(const InitializerSpec& initializer) {
  const char* const names[] = {"zeros", "constant", "uniform", "normal"};
  return names[initializer.index()];
}

// -1 and 18446744073709551615 are the same key.
absl::StatusOr<Key> ParseKey(const std::string& text) {
  const char* const end = text.data() + text.size();
  if (text.starts_with('-')) {
    int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end) return static_cast<Key>(value);
  } else {
    Key value = 0;
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end) return value;
  }
  return client::InvalidInput("", absl::StrCat("'", text, "' is not a 64-bit key"),
                              "Keys are integers from -2^63 to 2^64 - 1.");
}

// Shortest text that gives the same float32.
std::string Number(float value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

// An open table takes any key.
Field NumEmbeddings(const TableSchema& schema) {
  if (schema.num_embeddings == 0) return {"num_embeddings", "any key", "null"};
  return Count("num_embeddings", schema.num_embeddings);
}

Field RowField(std::span<const float> row) {
  std::string values = "[";
  for (size_t c = 0; c < row.size(); ++c) {
    absl::StrAppend(&values, c == 0 ? "" : ", ", Number(row[c]));
  }
  values += "]";
  return {"row", values, values};
}

Record StatisticsRecord(const TableStatistics& table) {
  return {Text("table", table.name),
          Count("rows", table.rows),
          Bytes("used_bytes", table.used_bytes),
          Bytes("allocated_bytes", table.allocated_bytes),
          Count("rows_pulled", table.rows_pulled),
          Count("rows_pulled_initial", table.rows_pulled_initial),
          Count("rows_pushed", table.rows_pushed),
          Count("rows_created", table.rows_created),
          Count("rows_refused", table.rows_refused),
          Count("gradients_refused", table.gradients_refused),
          Count("highest_step", table.highest_step)};
}

// Waits two seconds, or until nobody reads the output any more.
bool ReaderGone() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 2000) > 0;
}

absl::Status PrintStatisticsOnce(Client& client, const Arguments& arguments) {
  std::vector<std::string> names = {arguments.table};
  if (arguments.table.empty()) {
    const auto listed = client.ListTables();
    if (!listed.ok()) return listed.status();
    names.clear();
    for (const TableInfo& table : *listed) names.push_back(table.schema.name);
  }
  std::vector<Record> records;
  for (const std::string& name : names) {
    const auto table = client.OpenTable(name);
    if (!table.ok()) return table.status();
    const auto statistics = table->Stats();
    if (!statistics.ok()) return statistics.status();
    records.push_back(StatisticsRecord(*statistics));
  }
  Print(records, arguments.format);
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace

absl::Status ShowStatus(const Arguments& arguments) {
  const auto client = Connect(arguments);
  if (!client.ok()) return client.status();
  std::vector<Record> records;
  absl::Status first;
  for (const ShardStatus& shard : (*client)->Status()) {
    first.Update(shard.status);
    records.push_back(
        {Count("shard", shard.shard), Text("address", shard.address),
         Text("state", shard.status.ok() ? shard.state : "unreachable"),
         Text("version", shard.version), Count("uptime_s", shard.uptime_ms / 1000),
         Bytes("memory_used", shard.memory_used_bytes),
         Bytes("memory_budget", shard.memory_budget_bytes), Count("sessions", shard.sessions),
         Count("pull_requests", shard.pull_requests), Count("push_requests", shard.push_requests),
         Count("requests_failed", shard.requests_failed)});
  }
  Print(records, arguments.format);
  return first;
}

absl::Status ShowTables(const Arguments& arguments) {
  const auto client = Connect(arguments);
  if (!client.ok()) return client.status();
  const auto tables = (*client)->ListTables();
  if (!tables.ok()) return tables.status();
  std::vector<Record> records;
  for (const TableInfo& table : *tables) {
    records.push_back({Text("table", table.schema.name), Count("id", table.table_id),
                       Count("dim", static_cast<uint64_t>(table.schema.dim)),
                       Text("optimizer", NameOf(table.schema.optimizer)),
                       Text("initializer", NameOf(table.schema.initializer)),
                       Count("seed", table.schema.seed), NumEmbeddings(table.schema),
                       Bytes("row_bytes", static_cast<uint64_t>(table.row_bytes))});
  }
  Print(records, arguments.format);
  return absl::OkStatus();
}

absl::Status ShowStatistics(const Arguments& arguments) {
  const auto client = Connect(arguments);
  if (!client.ok()) return client.status();
  while (true) {
    const absl::Status status = PrintStatisticsOnce(**client, arguments);
    if (!status.ok() || !arguments.watch) return status;
    if (ReaderGone()) return absl::OkStatus();
    std::puts("");
  }
}

absl::Status ShowRows(const Arguments& arguments) {
  std::vector<Key> keys;
  for (const std::string& text : arguments.keys) {
    const absl::StatusOr<Key> key = ParseKey(text);
    if (!key.ok()) return key.status();
    keys.push_back(*key);
  }
  const auto client = Connect(arguments);
  if (!client.ok()) return client.status();
  const auto table = (*client)->OpenTable(arguments.table);
  if (!table.ok()) return table.status();
  std::vector<Record> records;
  for (const Key& key : keys) {  // one by one: the servers count what is not stored per call
    const auto batch = table->PullBatch({&key, 1}, std::nullopt, {.read_only = true});
    if (!batch.ok()) return batch.status();
    std::vector<float> row(static_cast<size_t>(table->dim()));
    std::memcpy(row.data(), (*batch)->rows().rows[0], row.size() * sizeof(float));
    const std::string name = std::to_string(static_cast<int64_t>(key));
    const char* const stored = (*batch)->initial_rows() == 0 ? "true" : "false";
    records.push_back({{"key", name, name}, {"stored", stored, stored}, RowField(row)});
  }
  Print(records, arguments.format);
  return absl::OkStatus();
}

}  // namespace hotrow::ctl
