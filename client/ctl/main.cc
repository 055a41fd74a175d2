// hotrowctl: looks at a running cluster from the command line.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "client/ctl/commands.h"
#include "hotrow/errors.h"

namespace {

using hotrow::ctl::Arguments;
using hotrow::ctl::Format;

constexpr char kExitCodes[] =
    "Exit codes: 0 success, 1 a shard is unreachable or refused, 2 bad usage, 3 not found.";

int ExitCode(const absl::Status& status) {
  switch (hotrow::DescribeError(status).kind) {
    case hotrow::ErrorKind::kNone:
      return 0;
    case hotrow::ErrorKind::kInvalidArgument:
    case hotrow::ErrorKind::kKeyRange:
      return 2;
    case hotrow::ErrorKind::kNotFound:
      return 3;
    default:
      return 1;
  }
}

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  const hotrow::ErrorDetails error = hotrow::DescribeError(status);
  std::fprintf(stderr, "hotrowctl: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("hotrowctl: looks at a running Hotrow cluster");
  app.footer(kExitCodes);
  app.fallthrough();
  Arguments arguments;
  app.add_option("--address", arguments.address, "HOST:PORT or unix:PATH of any shard")
      ->envname("HOTROW_ADDRESS")
      ->capture_default_str();
  app.add_option("--timeout", arguments.timeout_s, "seconds that a call may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  const std::map<std::string, Format> formats = {
      {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}};
  app.add_option("-o,--output", arguments.format, "table, json or yaml")
      ->transform(CLI::CheckedTransformer(formats));

  CLI::App* status = app.add_subcommand("status", "what each shard says of itself");
  CLI::App* tables = app.add_subcommand("tables", "all tables and their schemas");
  CLI::App* stats = app.add_subcommand("stats", "counters of tables, summed over shards");
  stats->add_option("table", arguments.table, "only this table");
  stats->add_flag("--watch", arguments.watch, "again every two seconds, until interrupted");
  CLI::App* get = app.add_subcommand("get", "rows of a table");
  get->add_option("table", arguments.table, "name of the table")->required();
  get->add_option("keys", arguments.keys, "keys, as signed or unsigned 64-bit integers")
      ->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11's way to report; it ends here
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (app.get_subcommands().empty()) {
    std::fprintf(stderr, "hotrowctl: give one of the commands below\n\n%s", app.help().c_str());
    return 2;
  }
  if (status->parsed()) return Report(hotrow::ctl::ShowStatus(arguments));
  if (tables->parsed()) return Report(hotrow::ctl::ShowTables(arguments));
  if (stats->parsed()) return Report(hotrow::ctl::ShowStatistics(arguments));
  return Report(hotrow::ctl::ShowRows(arguments));
}
