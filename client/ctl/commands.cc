#include "client/ctl/commands.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "hotrow/client.h"
#include "hotrow/errors.h"
#include "hotrow/pulled_batch.h"

namespace hotrow::ctl {
namespace {

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

// Of a shard that is not up, or not the one that it should be, nothing is known.
Record StatusRecord(const ShardStatus& shard) {
  const bool up = shard.status.ok();
  const auto count = [&](const char* name, uint64_t value) {
    return up ? Count(name, value) : Unknown(name);
  };
  const auto bytes = [&](const char* name, uint64_t value) {
    return up ? Bytes(name, value) : Unknown(name);
  };
  return {Count("shard", shard.shard),
          Text("address", shard.address),
          Text("state", up ? shard.state : "unreachable"),
          up ? Text("version", shard.version) : Unknown("version"),
          count("uptime_s", shard.uptime_ms / 1000),
          bytes("memory_used", shard.memory_used_bytes),
          bytes("memory_budget", shard.memory_budget_bytes),
          count("sessions", shard.sessions),
          count("pull_requests", shard.pull_requests),
          count("push_requests", shard.push_requests),
          count("requests_failed", shard.requests_failed)};
}

}  // namespace

absl::StatusOr<std::shared_ptr<Client>> Connect(const Arguments& arguments) {
  ConnectOptions options;
  options.addresses = {arguments.address};
  options.timeout = std::chrono::seconds(arguments.timeout_s);
  options.access = Access::kInspect;
  return Client::Connect(std::move(options));
}

absl::Status ShowStatus(const Arguments& arguments) {
  const auto client = Connect(arguments);
  if (!client.ok()) return client.status();
  std::vector<Record> records;
  absl::Status first;
  for (const ShardStatus& shard : (*client)->Status()) {
    if (!first.ok()) Complain(shard.status);  // the first one is told at the end
    first.Update(shard.status);
    records.push_back(StatusRecord(shard));
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
  absl::Status first;
  for (const ShardStatus& shard : (*client)->Status()) first.Update(shard.status);
  return first;
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
