// ServerConfig: everything that a server can be told, and where it was told it.
//
//   flags > HOTROW_A__B environment > YAML file > defaults
//
// All sources become (key, value text, origin) settings, and one list of fields gives each key its
// parser, its printer and its help. Unknown keys are errors with a suggestion; keys of features
// that this version does not have are refused by name.
//
// Thread safety: values. Units: bytes, milliseconds. Errors: InvalidArgument, one line that names
// the origin (file and line, variable or flag).

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotrow {

struct ServerConfig {
  uint32_t shard = 0;
  std::vector<std::string> shards;  // address of each shard; empty: this server alone
  std::string listen = "127.0.0.1:7070";
  std::string unix_path;     // empty: no Unix socket
  std::string admin_listen;  // empty: admin calls are served on `listen`
  std::string metrics;       // empty: no metrics server
  std::string data_dir;      // empty: none
  std::string cluster_id = "hotrow";
  uint32_t partitions = 64;
  int64_t memory_budget_bytes = 0;  // of the whole process; 0: its parts have limits of their own
  int64_t hot_budget_bytes = 0;     // 0: what memory_budget leaves, or half of the usable memory
  int64_t warm_budget_bytes = 0;    // 0: no warm tier
  int64_t disk_budget_bytes = 0;    // 0: no cold tier
  int64_t disk_memory_bytes = 0;    // 0: chosen, like the other sizes here that are 0
  int64_t write_queue_bytes = 0;
  int disk_read_threads = 8;
  std::string hot_space = "auto";
  std::string log_level = "info";
  std::string log_format = "auto";           // auto: text on a terminal, else json
  std::chrono::milliseconds slow_call{250};  // 0: nothing is slow
  std::string ready_file;
  bool insecure = false;
  int strands = 0;               // 0: half of the processors, 1 .. 16
  int event_loops = 0;           // 0: half of the processors, 1 .. 8
  int64_t rpc_memory_bytes = 0;  // of gRPC; streams hold half as much beside
  int64_t max_connections = 0;   // 0: what the limit of open files allows
  int64_t max_queued_requests = 1024;
  int64_t max_queued_bytes = 0;
  int64_t max_sessions = 4096;
  std::chrono::milliseconds session_idle{std::chrono::hours(24)};
  std::chrono::milliseconds drain_timeout{10'000};
};

// One value from one source.
struct Setting {
  std::string key;     // "tiers.hot_budget"
  std::string value;   // lists are joined with ','
  std::string origin;  // "hotrow.yaml:3", "HOTROW_LISTEN", "--listen"
};

struct ConfigField {
  const char* key;
  const char* help;
  std::function<absl::Status(ServerConfig&, const std::string& value)> set;
  std::function<std::string(const ServerConfig&)> show;
};

// All keys, in the order of --print-config.
const std::vector<ConfigField>& ConfigFields();

// Applies settings in order, later ones win. Refuses unknown keys and values that do not parse.
absl::Status ApplySettings(const std::vector<Setting>& settings, ServerConfig& config);
// Fills computed defaults, then checks what concerns several fields.
absl::Status FinishConfig(ServerConfig& config);
// YAML that loads to the same configuration.
std::string PrintConfig(const ServerConfig& config);

// Settings of a YAML file, each with its line. Also refuses keys that appear twice.
absl::StatusOr<std::vector<Setting>> ReadConfigFile(const std::string& path);
// Settings of HOTROW_* variables. A variable that is no key is left alone, because shells and
// Kubernetes put others there (HOTROW_SERVICE_HOST), unless it looks like a misspelt key: then
// ApplySettings refuses it. `variables`: "NAME=value".
std::vector<Setting> ReadEnvironment(const std::vector<std::string>& variables);

// The key nearest to `key` when it is near enough to be a slip, else empty.
std::string NearestKey(const std::string& key);
// The same for words that mean a key although they are spelt otherwise: "port" for "listen".
std::string MeantKey(const std::string& key);
// Whether settings stand below `key`; names some of them.
std::string KeysBelow(const std::string& key);
// Levenshtein distance.
size_t EditDistance(const std::string& a, const std::string& b);
// `status` of FinishConfig, which begins with its key, with the origin of that key before it.
absl::Status WithOrigin(const absl::Status& status, const std::vector<Setting>& settings);

}  // namespace hotrow
