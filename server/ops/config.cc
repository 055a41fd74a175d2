#include "server/ops/config.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>
#include <utility>

#include "server/ops/address.h"
#include "server/ops/memory_plan.h"

namespace hotrow {
namespace {

constexpr int kMaxDefaultStrands = 16;
constexpr int kMaxDefaultLoops = 8;
constexpr int64_t kMinHotBudgetBytes = int64_t{1} << 20;
// A message of 4 MiB is held twice while it is assembled.
constexpr int64_t kMinRpcMemoryBytes = int64_t{16} << 20;
constexpr int64_t kMinDiskBudgetBytes = int64_t{64} << 20;
constexpr int64_t kMinDiskMemoryBytes = int64_t{4} << 20;
constexpr std::chrono::minutes kMinSessionIdle(1);

// A refused key also stands for everything below it: "tls" for "tls.cert".
bool Covers(const ConfigField& field, const std::string& key) {
  if (key == field.key) return true;
  const std::string prefix = std::string(field.key) + ".";
  return field.show == nullptr && key.rfind(prefix, 0) == 0;
}

absl::Status Apply(const Setting& setting, ServerConfig& config) {
  for (const ConfigField& field : ConfigFields()) {
    if (!Covers(field, setting.key)) continue;
    const absl::Status status = field.set(config, setting.value);
    if (status.ok()) return status;
    return absl::InvalidArgumentError(setting.origin + ": " + setting.key + ": " +
                                      std::string(status.message()));
  }
  if (const std::string below = KeysBelow(setting.key); !below.empty()) {
    return absl::InvalidArgumentError(
        setting.origin + ": " + setting.key +
        ": is a section; write its keys, indented, below it: " + below);
  }
  const std::string meant = MeantKey(setting.key);
  const std::string hint = meant.empty() ? "" : "; did you mean '" + meant + "'?";
  return absl::InvalidArgumentError(setting.origin + ": unknown key '" + setting.key + "'" + hint);
}

absl::Status CheckExposure(const char* key, const std::string& text, const ServerConfig& config) {
  const absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) {
    return absl::InvalidArgumentError(std::string(key) + ": " +
                                      std::string(address.status().message()));
  }
  if (address->IsLoopback() || config.insecure) return absl::OkStatus();
  return absl::InvalidArgumentError(
      std::string(key) + ": " + text +
      " can be reached from other machines and this version asks nobody for credentials; listen on "
      "127.0.0.1 or say --insecure");
}

// The listeners that may be missing.
absl::Status CheckOtherListeners(const ServerConfig& config) {
  const std::pair<const char*, const std::string&> listeners[] = {
      {"metrics", config.metrics}, {"admin_listen", config.admin_listen}};
  std::vector<std::pair<const char*, std::string>> taken = {{"listen", config.listen}};
  for (const auto& [key, address] : listeners) {
    if (address.empty()) continue;
    if (absl::Status status = CheckExposure(key, address, config); !status.ok()) return status;
    const bool any_port = ParseAddress(address)->port == 0;
    for (const auto& [other, used] : taken) {
      if (address != used || any_port) continue;
      return absl::InvalidArgumentError(std::string(key) + ": " + address + " is the address of " +
                                        other + " already");
    }
    taken.emplace_back(key, address);
  }
  return absl::OkStatus();
}

absl::Status CheckShards(const ServerConfig& config) {
  if (!std::has_single_bit(config.partitions)) {
    return absl::InvalidArgumentError("partitions: " + std::to_string(config.partitions) +
                                      " is not a power of two");
  }
  const size_t shards = std::max<size_t>(config.shards.size(), 1);
  if (config.shard >= shards) {
    return absl::InvalidArgumentError("shard: " + std::to_string(config.shard) +
                                      " is not below the number of shards, " +
                                      std::to_string(shards) +
                                      "; name the address of every shard in shards, in the order "
                                      "of their numbers (--shards HOST:PORT,HOST:PORT)");
  }
  const auto own = std::find(config.shards.begin(), config.shards.end(), config.listen);
  if (own != config.shards.end() && own - config.shards.begin() != config.shard) {
    return absl::InvalidArgumentError("shard: listen " + config.listen + " is shard " +
                                      std::to_string(own - config.shards.begin()) +
                                      " of shards, not " + std::to_string(config.shard));
  }
  if (shards > config.partitions) {
    return absl::InvalidArgumentError("shards: " + std::to_string(shards) +
                                      " shards need at least "
                                      "as many partitions, not " +
                                      std::to_string(config.partitions));
  }
  for (const std::string& shard : config.shards) {
    if (shard.rfind("unix:", 0) == 0) continue;
    const absl::StatusOr<Address> address = ParseAddress(shard);
    if (!address.ok() || address->port == 0) {
      return absl::InvalidArgumentError("shards: '" + shard +
                                        "' is not HOST:PORT with a port, nor unix:PATH");
    }
    if (std::count(config.shards.begin(), config.shards.end(), shard) > 1) {
      return absl::InvalidArgumentError("shards: '" + shard + "' is listed twice");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDisk(const ServerConfig& config) {
  if (config.disk_budget_bytes == 0) return absl::OkStatus();
  if (config.data_dir.empty()) {
    return absl::InvalidArgumentError(
        "tiers.disk_budget: rows on disk need data_dir, the directory to keep them in");
  }
  if (config.disk_budget_bytes < kMinDiskBudgetBytes) {
    return absl::InvalidArgumentError("tiers.disk_budget: less than 64MiB is no use; 0: none");
  }
  if (config.disk_memory_bytes < kMinDiskMemoryBytes) {
    return absl::InvalidArgumentError("tiers.disk_memory: less than 4MiB holds no write buffer");
  }
  if (config.write_queue_bytes < kMinDiskMemoryBytes) {
    return absl::InvalidArgumentError("tiers.write_queue: less than 4MiB holds no chunk of rows");
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const ServerConfig& config) {
  if (config.hot_budget_bytes < kMinHotBudgetBytes) {
    return absl::InvalidArgumentError("tiers.hot_budget: less than 1MiB holds no table");
  }
  if (config.warm_budget_bytes != 0 && config.warm_budget_bytes < kMinHotBudgetBytes) {
    return absl::InvalidArgumentError("tiers.warm_budget: less than 1MiB holds no table; 0: none");
  }
  if (absl::Status status = CheckDisk(config); !status.ok()) return status;
  if (config.rpc_memory_bytes < kMinRpcMemoryBytes) {
    return absl::InvalidArgumentError("rpc.memory: less than 16MiB holds no message");
  }
  if (config.max_queued_bytes < kMinRpcMemoryBytes) {
    return absl::InvalidArgumentError("queue.max_bytes: less than 16MiB holds no message");
  }
  if (config.session_idle < kMinSessionIdle) {
    return absl::InvalidArgumentError("queue.session_idle: less than 1m ends sessions at work");
  }
  return absl::OkStatus();
}

}  // namespace

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string KeysBelow(const std::string& key) {
  std::string below;
  for (const ConfigField& field : ConfigFields()) {
    const std::string known = field.key;
    if (known.rfind(key + ".", 0) != 0) continue;
    below += (below.empty() ? "" : ", ") + known.substr(key.size() + 1);
  }
  return below;
}

std::string MeantKey(const std::string& key) {
  const std::string nearest = NearestKey(key);
  if (!nearest.empty()) return nearest;
  const std::pair<const char*, const char*> others[] = {{"port", "listen"},
                                                        {"host", "listen"},
                                                        {"address", "listen"},
                                                        {"bind", "listen"},
                                                        {"threads", "strands"},
                                                        {"workers", "strands"},
                                                        {"nodes", "shards"},
                                                        {"replicas", "shards"},
                                                        {"peers", "shards"},
                                                        {"id", "shard"},
                                                        {"rank", "shard"},
                                                        {"admin", "admin_listen"},
                                                        {"budget", "tiers.hot_budget"},
                                                        {"capacity", "tiers.hot_budget"}};
  for (const auto& [word, meant] : others) {
    if (key == word) return meant;
  }
  return "";
}

absl::Status WithOrigin(const absl::Status& status, const std::vector<Setting>& settings) {
  const std::string message(status.message());
  const std::string key = message.substr(0, message.find(": "));
  for (auto setting = settings.rbegin(); setting != settings.rend(); ++setting) {
    if (setting->key == key) {
      return absl::InvalidArgumentError(setting->origin + ": " + message);
    }
  }
  return status;
}

std::string NearestKey(const std::string& key) {
  std::string nearest;
  size_t best = std::max<size_t>(1, key.size() / 4) + 1;  // farther is no slip
  for (const ConfigField& field : ConfigFields()) {
    const std::string known = field.key;
    // People also forget the section: hot_budget for tiers.hot_budget.
    const std::string last = known.substr(known.rfind('.') + 1);
    const size_t distance = std::min(EditDistance(key, known), EditDistance(key, last) + 1);
    if (distance < best || (distance == best && nearest.empty() && key == last)) {
      best = distance;
      nearest = known;
    }
  }
  return nearest;
}

absl::Status ApplySettings(const std::vector<Setting>& settings, ServerConfig& config) {
  for (const Setting& setting : settings) {
    if (absl::Status status = Apply(setting, config); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status FinishConfig(ServerConfig& config) {
  if (absl::Status status = PlanMemory(config); !status.ok()) return status;
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  if (config.strands == 0) config.strands = std::clamp(processors / 2, 1, kMaxDefaultStrands);
  if (config.event_loops == 0) {
    config.event_loops = std::clamp(processors / 2, 1, kMaxDefaultLoops);
  }
  if (absl::Status status = CheckExposure("listen", config.listen, config); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckOtherListeners(config); !status.ok()) return status;
  if (absl::Status status = CheckShards(config); !status.ok()) return status;
  return CheckSizes(config);
}

std::string PrintConfig(const ServerConfig& config) {
  std::string text;
  std::string section;
  for (const ConfigField& field : ConfigFields()) {
    if (field.show == nullptr) continue;
    std::string key = field.key;
    const size_t dot = key.find('.');
    const std::string own_section = dot == std::string::npos ? "" : key.substr(0, dot);
    if (own_section != section && !own_section.empty()) text += own_section + ":\n";
    section = own_section;
    const std::string indent = dot == std::string::npos ? "" : "  ";
    if (dot != std::string::npos) key = key.substr(dot + 1);
    std::string value = field.show(config);
    // Quoted: a path may hold any character.
    for (size_t i = 0; (i = value.find_first_of("\\\"", i)) != std::string::npos; i += 2) {
      value.insert(i, 1, '\\');
    }
    if (value.empty()) {
      text += indent + "# " + key + ":  # " + field.help + "\n";
    } else {
      text += indent + key + ": \"" + value + "\"  # " + field.help + "\n";
    }
  }
  return text;
}

}  // namespace hotrow
