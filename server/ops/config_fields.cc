#include <algorithm>
#include <charconv>
#include <limits>

#include "server/ops/config.h"
#include "server/ops/human_units.h"

namespace hotrow {
namespace {

template <typename Number>
absl::Status ParseNumber(const std::string& text, int64_t low, int64_t high, Number& out) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < low || value > high) {
    return absl::InvalidArgumentError("'" + text + "' is not a whole number from " +
                                      std::to_string(low) + " to " + std::to_string(high));
  }
  out = static_cast<Number>(value);
  return absl::OkStatus();
}

template <typename Number>
ConfigField NumberField(const char* key, const char* help, Number ServerConfig::* member,
                        int64_t low, int64_t high) {
  return {key, help,
          [=](ServerConfig& config, const std::string& text) {
            return ParseNumber(text, low, high, config.*member);
          },
          [=](const ServerConfig& config) { return std::to_string(config.*member); }};
}

ConfigField TextField(const char* key, const char* help, std::string ServerConfig::* member) {
  return {key, help,
          [=](ServerConfig& config, const std::string& text) {
            config.*member = text;
            return absl::OkStatus();
          },
          [=](const ServerConfig& config) { return config.*member; }};
}

// A shell would expand a tilde in front; here it would be the name of a folder.
ConfigField PathField(const char* key, const char* help, std::string ServerConfig::* member) {
  ConfigField field = TextField(key, help, member);
  field.set = [set = field.set](ServerConfig& config, const std::string& text) {
    if (text.rfind('~', 0) == 0) {
      return absl::InvalidArgumentError("'" + text +
                                        "' begins with ~, which only a shell expands; "
                                        "write the whole path");
    }
    return set(config, text);
  };
  return field;
}

ConfigField ChoiceField(const char* key, const char* help, std::string ServerConfig::* member,
                        std::vector<std::string> choices) {
  ConfigField field = TextField(key, help, member);
  field.set = [=](ServerConfig& config, const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      std::string offered;
      for (const auto& choice : choices) offered += (offered.empty() ? "" : ", ") + choice;
      return absl::InvalidArgumentError("'" + text + "' is not one of " + offered);
    }
    config.*member = text;
    return absl::OkStatus();
  };
  return field;
}

ConfigField SizeField(const char* key, const char* help, int64_t ServerConfig::* member) {
  return {key, help,
          [=](ServerConfig& config, const std::string& text) {
            const absl::StatusOr<int64_t> bytes = ParseSize(text);
            if (bytes.ok()) config.*member = *bytes;
            return bytes.status();
          },
          [=](const ServerConfig& config) { return FormatSize(config.*member); }};
}

// A feature of later versions.
ConfigField RefusedField(const char* key, const char* reason) {
  return {key, "",
          [=](ServerConfig&, const std::string&) { return absl::InvalidArgumentError(reason); },
          nullptr};
}

ConfigField ShardsField() {
  return {"shards", "address of every shard, in order of shard number, comma-separated",
          [](ServerConfig& config, const std::string& text) {
            config.shards.clear();
            for (size_t begin = 0; begin <= text.size();) {
              const size_t end = std::min(text.find(',', begin), text.size());
              std::string shard = text.substr(begin, end - begin);
              shard.erase(0, shard.find_first_not_of(' '));
              shard.erase(shard.find_last_not_of(' ') + 1);
              if (shard.empty()) return absl::InvalidArgumentError("a shard address is empty");
              config.shards.push_back(std::move(shard));
              begin = end + 1;
            }
            return absl::OkStatus();
          },
          [](const ServerConfig& config) {
            std::string joined;
            for (const auto& shard : config.shards) joined += (joined.empty() ? "" : ",") + shard;
            return joined;
          }};
}

ConfigField InsecureField() {
  return {
      "insecure", "allow listening off loopback although nobody has to show credentials",
      [](ServerConfig& config, const std::string& text) {
        if (text != "true" && text != "false") {
          return absl::InvalidArgumentError("'" + text + "' is not true or false");
        }
        config.insecure = text == "true";
        return absl::OkStatus();
      },
      [](const ServerConfig& config) { return std::string(config.insecure ? "true" : "false"); }};
}

ConfigField HotSpaceField() {
  ConfigField field = ChoiceField("hot_space", "memory of the hot tier: auto or host",
                                  &ServerConfig::hot_space, {"auto", "host", "cuda"});
  field.set = [choose = field.set](ServerConfig& config, const std::string& text) {
    if (text == "cuda") {
      return absl::InvalidArgumentError("this version has no CUDA space; use auto or host");
    }
    return choose(config, text);
  };
  return field;
}

ConfigField CoordinationField() {
  return {"coordination", "",
          [](ServerConfig&, const std::string& text) {
            if (text == "static") return absl::OkStatus();
            return absl::InvalidArgumentError(
                "this version knows the static shard list only; set shards");
          },
          nullptr};
}

ConfigField DurationField(const char* key, const char* help,
                          std::chrono::milliseconds ServerConfig::* member) {
  return {key, help,
          [=](ServerConfig& config, const std::string& text) {
            const auto duration = ParseDuration(text);
            if (duration.ok()) config.*member = *duration;
            return duration.status();
          },
          [=](const ServerConfig& config) { return FormatDuration(config.*member); }};
}

void AddServingFields(std::vector<ConfigField>& fields) {
  using C = ServerConfig;
  fields.push_back(NumberField("shard", "number of this shard, from 0", &C::shard, 0, 1023));
  fields.push_back(ShardsField());
  fields.push_back(
      TextField("listen", "HOST:PORT of the gRPC services; port 0: a free one", &C::listen));
  fields.push_back(
      PathField("unix", "path of a Unix socket for clients on this host", &C::unix_path));
  fields.push_back(TextField("admin_listen",
                             "HOST:PORT that alone serves what drops tables, drains, restores or "
                             "names clients; empty: listen does",
                             &C::admin_listen));
  fields.push_back(TextField("metrics", "HOST:PORT of the metrics and health pages", &C::metrics));
  fields.push_back(
      PathField("data_dir", "directory that this shard locks and marks as its own", &C::data_dir));
  fields.push_back(TextField("cluster_id", "name of the cluster that a data directory belongs to",
                             &C::cluster_id));
  fields.push_back(NumberField("partitions", "fixed for the life of a cluster; power of two",
                               &C::partitions, 1, 1024));
}

void AddMemoryFields(std::vector<ConfigField>& fields) {
  using C = ServerConfig;
  fields.push_back(SizeField("memory_budget",
                             "of the whole process, at its limits; 0: only its parts have limits",
                             &C::memory_budget_bytes));
  fields.push_back(SizeField("tiers.hot_budget",
                             "memory of the hot rows of all tables, index included; 0: what "
                             "memory_budget leaves, or half of what the process may use",
                             &C::hot_budget_bytes));
  fields.push_back(SizeField("tiers.warm_budget", "host memory below the hot tier; 0: no warm tier",
                             &C::warm_budget_bytes));
  fields.push_back(SizeField("tiers.disk_budget",
                             "disk, in data_dir, for rows that leave memory and for all rows at a "
                             "stop; 0: no cold tier",
                             &C::disk_budget_bytes));
  fields.push_back(SizeField("tiers.disk_memory",
                             "memory of the cold tier: write buffers, filters, indexes; 0: chosen",
                             &C::disk_memory_bytes));
  fields.push_back(SizeField("tiers.write_queue",
                             "memory of rows on their way to disk, all strands; 0: chosen",
                             &C::write_queue_bytes));
  fields.push_back(NumberField("tiers.disk_read_threads", "threads that read rows from disk",
                               &C::disk_read_threads, 1, 256));
  fields.push_back(HotSpaceField());
}

void AddOperatingFields(std::vector<ConfigField>& fields) {
  using C = ServerConfig;
  fields.push_back(ChoiceField("log_level", "debug, info, warn or error", &C::log_level,
                               {"debug", "info", "warn", "error"}));
  fields.push_back(
      ChoiceField("log_format", "auto, text or json", &C::log_format, {"auto", "text", "json"}));
  fields.push_back(DurationField("log.slow_call",
                                 "pulls, pushes and steps of scans that take so long are logged "
                                 "with the time of each stage; 0: none",
                                 &C::slow_call));
  fields.push_back(
      PathField("ready_file", "gets the chosen addresses as JSON once serving", &C::ready_file));
  fields.push_back(InsecureField());
  fields.push_back(NumberField("strands", "threads that write rows; 0: chosen by the machine",
                               &C::strands, 0, 1024));
  fields.push_back(NumberField("rpc.event_loops",
                               "threads of the network; 0: chosen by the machine", &C::event_loops,
                               0, 64));
  fields.push_back(SizeField("rpc.memory",
                             "limit of gRPC's own buffers; half as much is held for accepted "
                             "requests and their replies; 0: chosen",
                             &C::rpc_memory_bytes));
  fields.push_back(NumberField("rpc.max_connections",
                               "connections that may be open at a time; 0: 192 less than the limit "
                               "of open files, 16384 at most",
                               &C::max_connections, 0, 1 << 20));
  fields.push_back(NumberField("queue.max_requests", "requests that wait for a strand",
                               &C::max_queued_requests, 1, 1 << 20));
  fields.push_back(SizeField("queue.max_bytes", "payload bytes that wait for a strand; 0: chosen",
                             &C::max_queued_bytes));
  fields.push_back(NumberField("queue.max_sessions", "clients that may push at a time",
                               &C::max_sessions, 1, 1 << 20));
  fields.push_back(DurationField("queue.session_idle",
                                 "a client that pushes nothing for so long may lose its session",
                                 &C::session_idle));
  fields.push_back(DurationField("drain_timeout",
                                 "how long a stopping server waits for accepted requests",
                                 &C::drain_timeout));
}

void AddRefusedFields(std::vector<ConfigField>& fields) {
  fields.push_back(CoordinationField());
  fields.push_back(RefusedField("tls", "this version has no TLS; listen on loopback"));
  fields.push_back(RefusedField("token", "this version has no tokens; listen on loopback"));
}

}  // namespace

const std::vector<ConfigField>& ConfigFields() {
  static const auto* const fields = [] {
    auto* all = new std::vector<ConfigField>;
    AddServingFields(*all);
    AddMemoryFields(*all);
    AddOperatingFields(*all);
    AddRefusedFields(*all);
    return all;
  }();
  return *fields;
}

}  // namespace hotrow
