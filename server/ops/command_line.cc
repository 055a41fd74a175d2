#include "server/ops/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

namespace hotrow {
namespace {

constexpr const char* kFooter =
    "Every key can also stand in the --config file, or in the environment: listen as\n"
    "HOTROW_LISTEN, tiers.hot_budget as HOTROW_TIERS__HOT_BUDGET. Flags win over the\n"
    "environment, and that over the file. Exit codes: 0 stopped cleanly, 2 bad\n"
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

// Why `arguments` could not be read, with the flag that was probably meant.
std::string ExplainFlags(const CLI::App& app, const std::vector<std::string>& arguments,
                         const std::string& reason) {
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.rfind("--", 0) != 0 || app.get_option_no_throw(name) != nullptr) continue;
    std::string key = name.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    const std::string nearest = NearestKey(key);
    if (FlagName(nearest) == name) return "'" + name + "' is not offered by this version";
    const std::string hint =
        nearest.empty() ? "see --help" : "did you mean '" + FlagName(nearest) + "'?";
    return "unknown flag '" + name + "'; " + hint;
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
  if (!flags.config_file.empty()) {
    absl::StatusOr<std::vector<Setting>> file = ReadConfigFile(flags.config_file);
    if (!file.ok()) return file.status();
    settings = *std::move(file);
  }
  for (Setting& setting : ReadEnvironment(environment)) settings.push_back(std::move(setting));
  for (const auto& [key, value] : flags.values) settings.push_back({key, value, FlagName(key)});
  ServerConfig config;
  if (absl::Status status = ApplySettings(settings, config); !status.ok()) return status;
  if (absl::Status status = FinishConfig(config); !status.ok()) return status;
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
