// hotrowctl: looks at a running cluster, and operates it, from the command line.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "client/ctl/commands.h"
#include "hotrow/errors.h"

namespace {

using hotrow::ctl::Arguments;
using hotrow::ctl::Format;

constexpr char kFooter[] =
    "Examples:\n"
    "  hotrowctl --address host-0:7070 status\n"
    "  hotrowctl -o json tables | jq '.[].table'\n"
    "  hotrowctl get user -- -1 42\n"
    "  hotrowctl stats --watch\n"
    "  hotrowctl slowlog --limit 20\n"
    "  hotrowctl --admin 127.0.0.1:7071 drain 0\n"
    "\n"
    "Answers go to stdout, in the same order and with the same names in every format; errors and\n"
    "hints to stderr. Exit codes: 0 success; 1 a shard is unreachable or refused (what the others\n"
    "answered is printed); 2 bad usage; 3 no such table or shard.";

int ExitCode(const absl::Status& status) {
  const hotrow::ErrorDetails error = hotrow::DescribeError(status);
  switch (error.kind) {
    case hotrow::ErrorKind::kNone:
      return 0;
    case hotrow::ErrorKind::kInvalidArgument:
    case hotrow::ErrorKind::kKeyRange:
      return error.shard < 0 ? 2 : 1;  // a server that is not as it should be is no bad usage
    case hotrow::ErrorKind::kNotFound:
      return 3;
    default:
      return 1;
  }
}

// What could not be written was no answer, as on a disk that is full.
int WrittenOr(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "hotrowctl: the answer could not be written\n");
  return exit_code == 0 ? 1 : exit_code;
}

int Report(const absl::Status& status) {
  hotrow::ctl::Complain(status);
  return WrittenOr(ExitCode(status));
}

void DeclareGlobal(CLI::App& app, Arguments& arguments) {
  app.add_option("--address", arguments.address, "HOST:PORT or unix:PATH of any shard")
      ->envname("HOTROW_ADDRESS")
      ->capture_default_str();
  app.add_option("--admin", arguments.admin,
                 "HOST:PORT of the admin listener of one shard; shards, slowlog, drain and drop "
                 "then go to that shard alone. Without it each shard says where its own is")
      ->envname("HOTROW_ADMIN");
  app.add_option("--timeout", arguments.timeout_s, "seconds that a call may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  const std::map<std::string, Format> formats = {
      {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}};
  app.add_option_function<std::string>(
         "-o,--output",
         [&arguments, formats](const std::string& name) {
           const auto found = formats.find(name);
           if (found == formats.end()) {
             throw CLI::ValidationError("--output",
                                        "'" + name + "' is not one of table, json, yaml");
           }
           arguments.format = found->second;
         },
         "table, json or yaml")
      ->type_name("FORMAT");
}

struct Command {
  CLI::App* app;
  absl::Status (*run)(const Arguments&);
};

CLI::App* DeclareDrop(CLI::App& parent, Arguments& arguments) {
  CLI::App* drop = parent.add_subcommand("drop", "drop a table on all shards, with all its rows");
  drop->add_option("table", arguments.table, "name of the table")->required();
  drop->add_flag("--yes", arguments.yes, "its rows may be lost");
  return drop;
}

std::vector<Command> DeclareCommands(CLI::App& app, Arguments& arguments) {
  CLI::App* status = app.add_subcommand("status", "what each shard says of itself");
  CLI::App* shards = app.add_subcommand("shards", "the shard map, and where each shard answers");
  CLI::App* tables = app.add_subcommand("tables", "all tables and their schemas");
  CLI::App* stats = app.add_subcommand("stats", "counters of tables, summed over shards");
  stats->add_option("table", arguments.table, "only this table");
  stats->add_flag("--watch", arguments.watch, "again every two seconds, until interrupted");
  CLI::App* get = app.add_subcommand("get", "rows of a table; negative keys behind --");
  get->add_option("table", arguments.table, "name of the table")->required();
  get->add_option("keys", arguments.keys, "keys, as signed or unsigned 64-bit integers")
      ->required();
  CLI::App* slowlog =
      app.add_subcommand("slowlog", "the newest slow calls of all shards, with time per stage");
  slowlog->add_option("--limit", arguments.limit, "at most so many; 0: all that shards keep");
  CLI::App* drain = app.add_subcommand(
      "drain", "let a shard finish what it accepted and take nothing new, for good");
  drain->add_option("shard", arguments.shard, "its number")->required();
  CLI::App* drop = DeclareDrop(app, arguments);
  tables->add_subcommand("list", "all tables and their schemas, as without a word");
  CLI::App* tables_drop = DeclareDrop(*tables, arguments);
  // The inner one before the one that it belongs to: the first that was named runs.
  return {{tables_drop, hotrow::ctl::DropTable}, {status, hotrow::ctl::ShowStatus},
          {shards, hotrow::ctl::ShowShards},     {tables, hotrow::ctl::ShowTables},
          {stats, hotrow::ctl::ShowStatistics},  {get, hotrow::ctl::ShowRows},
          {slowlog, hotrow::ctl::ShowSlowCalls}, {drain, hotrow::ctl::DrainShard},
          {drop, hotrow::ctl::DropTable}};
}

int Misused(const CLI::ParseError& error, const std::vector<Command>& commands) {
  std::string known;
  bool chosen = false;
  for (const Command& command : commands) {
    chosen = chosen || command.app->parsed();
    if (command.app->get_parent()->get_parent() != nullptr) continue;  // within another command
    known += (known.empty() ? "" : ", ") + command.app->get_name();
  }
  std::fprintf(stderr, "hotrowctl: %s\n", error.what());
  if (!chosen) std::fprintf(stderr, "hint: the commands are %s\n", known.c_str());
  std::fprintf(stderr, "hint: hotrowctl --help, or hotrowctl COMMAND --help\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("hotrowctl: looks at a running Hotrow cluster, and operates it", "hotrowctl");
  app.footer(kFooter);
  app.fallthrough();
  Arguments arguments;
  DeclareGlobal(app, arguments);
  const std::vector<Command> commands = DeclareCommands(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {  // CLI11's way to report; it ends here
    return WrittenOr(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return Misused(error, commands);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return Report(command.run(arguments));
  }
  std::fprintf(stderr, "hotrowctl: give one of the commands below\n\n%s", app.help().c_str());
  return 2;
}
