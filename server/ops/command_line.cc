#include "server/ops/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

namespace hotrow {
namespace {

constexpr const char* kFileVariable = "HOTROW_CONFIG";

constexpr const char* kFooter =
    "Every key can also stand in the --config file, or in the environment: listen as\n"
    "HOTROW_LISTEN, tiers.hot_budget as HOTROW_TIERS__HOT_BUDGET; HOTROW_CONFIG names the\n"
    "file. Flags win over the environment, and that over the file. Exit codes: 0 stopped cleanly, "
    "2 bad\n"
    "configuration, 1 anything else.";

struct Flags {
  std::string config_file;
  bool check_config = false;
  bool print_config = false;
  bool version = false;
  std::map<std::string, std::string> values;  // by key, of the flags given
};

// "tiers.hot_budget" -> "--tiers-hot-budget".
std::string FlagName(std::string key) {
  std::replace(key.begin(), key.end(), '.', '-');
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

// The flags that are no keys.
std::string NearestPlainFlag(const std::string& name) {
  for (const char* flag : {"--config", "--check-config", "--print-config", "--version", "--help"}) {
    if (EditDistance(name, flag) <= 2) return flag;
  }
  return "";
}

// A file that stands alone, or behind a flag that is none.
bool NamesFile(const std::string& argument) {
  return argument.ends_with(".yaml") || argument.ends_with(".yml");
}

// Why `arguments` could not be read, with the flag that was probably meant.
std::string ExplainFlags(const CLI::App& app, const std::vector<std::string>& arguments,
                         const std::string& reason) {
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.rfind("--", 0) != 0 || app.get_option_no_throw(name) != nullptr) continue;
    std::string key = name.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    const std::string nearest = MeantKey(key);
    if (FlagName(nearest) == name) return "'" + name + "' is not offered by this version";
    const std::string plain = NearestPlainFlag(name);
    const std::string meant = nearest.empty() || !plain.empty() ? plain : FlagName(nearest);
    const std::string hint = meant.empty() ? "see --help" : "did you mean '" + meant + "'?";
    return "unknown flag '" + name + "'; " + hint;
  }
  for (const std::string& argument : arguments) {
    if (NamesFile(argument)) return "a file of keys is read with --config " + argument;
  }
  std::string line = reason;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + "; see --help";
}

void DeclareFlags(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config_file, "YAML file of keys");
  app.add_flag("--check-config", flags.check_config, "check the configuration and end");
  app.add_flag("--print-config", flags.print_config, "print the configuration as YAML and end");
  app.add_flag("--version", flags.version, "print the version and end");
  for (const ConfigField& field : ConfigFields()) {
    if (field.show == nullptr) continue;
    const std::string key = field.key;
    const auto store = [&flags, key](const std::string& text) { flags.values[key] = text; };
    if (key == "insecure") {
      app.add_flag_callback(FlagName(key), [store] { store("true"); }, field.help);
    } else {
      app.add_option_function<std::string>(FlagName(key), store, field.help);
    }
  }
  app.footer(kFooter);
}

absl::StatusOr<ServerConfig> Combine(const Flags& flags,
                                     const std::vector<std::string>& environment) {
  std::vector<Setting> settings;
  std::string config_file = flags.config_file;
  for (const std::string& variable : environment) {
    const std::string prefix = std::string(kFileVariable) + "=";
    if (config_file.empty() && variable.rfind(prefix, 0) == 0) {
      config_file = variable.substr(prefix.size());
    }
  }
  if (!config_file.empty()) {
    absl::StatusOr<std::vector<Setting>> file = ReadConfigFile(config_file);
    if (!file.ok()) return file.status();
    settings = *std::move(file);
  }
  for (Setting& setting : ReadEnvironment(environment)) settings.push_back(std::move(setting));
  for (const auto& [key, value] : flags.values) settings.push_back({key, value, FlagName(key)});
  ServerConfig config;
  if (absl::Status status = ApplySettings(settings, config); !status.ok()) return status;
  if (absl::Status status = FinishConfig(config); !status.ok()) {
    return WithOrigin(status, settings);
  }
  return config;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& environment) {
  CLI::App app("hotrow-server: one shard of a Hotrow embedding parameter server", "hotrow-server");
  Flags flags;
  DeclareFlags(app, flags);
  CommandLine result;
  try {  // the library reports by exception
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    result.answer = app.help();
    return result;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(ExplainFlags(app, arguments, error.what()));
  }
  if (flags.version) {
    result.answer = "hotrow-server " HOTROW_VERSION "\n";
    return result;
  }
  absl::StatusOr<ServerConfig> config = Combine(flags, environment);
  if (!config.ok()) return config.status();
  result.config = *std::move(config);
  if (flags.print_config) {
    result.answer = PrintConfig(result.config);
  } else if (flags.check_config) {
    result.answer = "the configuration is good\n";
  }
  return result;
}

}  // namespace hotrow
