#include "server/ops/config.h"

#include <gtest/gtest.h>

#include "server/ops/command_line.h"
#include "server/ops/memory_plan.h"
#include "tests/rpc/temporary_directory.h"

namespace hotrow {
namespace {

using Words = std::vector<std::string>;

// The one line that refuses this command line; fails the test when it is accepted.
std::string Refusal(const Words& arguments, const Words& environment = {}) {
  const auto command = ParseCommandLine(arguments, environment);
  EXPECT_FALSE(command.ok()) << ::testing::PrintToString(arguments);
  const std::string message(command.ok() ? "" : command.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

ServerConfig Accepted(const Words& arguments, const Words& environment = {}) {
  const auto command = ParseCommandLine(arguments, environment);
  EXPECT_TRUE(command.ok()) << command.status().message();
  return command.ok() ? command->config : ServerConfig{};
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Config, FlagsWinOverEnvironmentOverFileOverDefault) {
  testing::TemporaryDirectory directory;
  const std::string file = directory.Write(
      "hotrow.yaml", "partitions: 8\nlog_level: warn\ntiers: {hot_budget: 2GiB}\nshard: 0\n");
  EXPECT_EQ(Accepted({}).partitions, 64u);
  EXPECT_EQ(Accepted({"--config", file}).partitions, 8u);
  EXPECT_EQ(Accepted({"--config", file}, {"HOTROW_PARTITIONS=16"}).partitions, 16u);
  const ServerConfig config = Accepted({"--config", file, "--partitions", "32"},
                                       {"HOTROW_PARTITIONS=16", "HOTROW_TIERS__HOT_BUDGET=3GiB"});
  EXPECT_EQ(config.partitions, 32u);
  EXPECT_EQ(config.hot_budget_bytes, int64_t{3} << 30);
  EXPECT_EQ(config.log_level, "warn");
}

TEST(Config, TheDocumentedFileIsUnderstood) {
  testing::TemporaryDirectory directory;
  const std::string file = directory.Write("hotrow.yaml",
                                           "shard: 1\n"
                                           "shards: [\"127.0.0.1:7070\", \"127.0.0.1:7071\"]\n"
                                           "listen: 127.0.0.1:7071\n"
                                           "unix: /tmp/x.sock\n"
                                           "metrics: 127.0.0.1:0\n"
                                           "data_dir: /var/lib/hotrow\n"
                                           "partitions: 64   # fixed\n"
                                           "tiers: {hot_budget: 2GiB, warm_budget: 0}\n"
                                           "hot_space: host\n"
                                           "drain_timeout: 250ms\n");
  const ServerConfig config = Accepted({"--config", file});
  EXPECT_EQ(config.shards, (Words{"127.0.0.1:7070", "127.0.0.1:7071"}));
  EXPECT_EQ(config.shard, 1u);
  EXPECT_EQ(config.unix_path, "/tmp/x.sock");
  EXPECT_EQ(config.hot_budget_bytes, int64_t{2} << 30);
  EXPECT_EQ(config.drain_timeout.count(), 250);
}

TEST(Config, UnknownKeysNameFileLineAndTheNearestKey) {
  testing::TemporaryDirectory directory;
  const std::string file =
      directory.Write("hotrow.yaml", "listen: 127.0.0.1:1\ntiers:\n  hot_buget: 2GiB\n");
  const std::string message = Refusal({"--config", file});
  EXPECT_SAYS(message, file + ":3");
  EXPECT_SAYS(message, "unknown key 'tiers.hot_buget'");
  EXPECT_SAYS(message, "did you mean 'tiers.hot_budget'");
  const std::string far = directory.Write("far.yaml", "replication_factor: 3\n");
  EXPECT_EQ(Refusal({"--config", far}).find("did you mean"), std::string::npos);
  const std::string swapped = directory.Write("swapped.yaml", "shrad: 0\n");
  EXPECT_SAYS(Refusal({"--config", swapped}), "did you mean 'shard'");
}

TEST(Config, ASlipInTheEnvironmentIsRefusedAndAStrangersVariableIsNot) {
  EXPECT_SAYS(Refusal({}, {"HOTROW_HOT_BUDGET=1GiB"}), "did you mean 'tiers.hot_budget'");
  EXPECT_SAYS(Refusal({}, {"HOTROW_LISTN=127.0.0.1:1"}), "HOTROW_LISTN");
  Accepted({}, {"HOTROW_VENV=/v", "HOTROW_BUILD=/b", "HOTROW_SERVICE_HOST=10.0.0.1",
                "HOTROW_PORT_7070_TCP=tcp://10.0.0.1:7070", "HOTROW_PORT=tcp", "PATH=/bin",
                "HOTROW_SERVER=/x"});
}

TEST(Config, BrokenFilesAreNamedWithTheirLine) {
  testing::TemporaryDirectory directory;
  const auto refusal = [&](const std::string& text) {
    return Refusal({"--config", directory.Write("c.yaml", text)});
  };
  EXPECT_SAYS(refusal("shard: 0\nlisten: [\n"), "c.yaml:");
  EXPECT_SAYS(refusal("shard: 0\nshard: 1\n"), "c.yaml:2: shard: is given twice");
  EXPECT_SAYS(refusal("- a\n- b\n"), "c.yaml:1");
  EXPECT_SAYS(refusal("shard: 0\n---\nlog_level: warn\n"), "c.yaml: has several documents");
  EXPECT_SAYS(refusal("listen:\n"), "listen: has no value");
  EXPECT_SAYS(refusal("shards: [[a]]\n"), "list item");
  EXPECT_SAYS(refusal("a: {b: {c: {d: {e: {f: 1}}}}}\n"), "nest");
  EXPECT_SAYS(refusal("x: \"" + std::string(2 << 20, 'x') + "\"\n"), "larger than 1MiB");
  EXPECT_SAYS(Refusal({"--config", directory.File("none.yaml")}), "cannot be read");
  Accepted({"--config", directory.Write("empty.yaml", "# nothing\n")});
}

TEST(Config, FeaturesOfLaterVersionsAreRefusedByName) {
  testing::TemporaryDirectory directory;
  const auto refusal = [&](const std::string& text) {
    return Refusal({"--config", directory.Write("c.yaml", text)});
  };
  EXPECT_SAYS(refusal("coordination: {etcd: [\"http://a:1\"]}\n"), "coordination.etcd");
  EXPECT_SAYS(refusal("tls: {cert: a.pem}\n"), "this version has no TLS");
  EXPECT_SAYS(refusal("token: secret\n"), "this version has no tokens");
  // However little is said of them, and wherever.
  EXPECT_SAYS(refusal("tls: {}\n"), "this version has no TLS");
  EXPECT_SAYS(refusal("coordination: {}\n"), "coordination");
  Accepted({"--config", directory.Write("section.yaml", "tiers: {}\n")});
  EXPECT_SAYS(Refusal({}, {"HOTROW_COORDINATION__ETCD=http://a:1"}), "coordination.etcd");
  EXPECT_SAYS(Refusal({}, {"HOTROW_TLS__CERT=x"}), "this version has no TLS");
  EXPECT_SAYS(Refusal({"--tls", "x"}), "'--tls' is not offered");
  EXPECT_SAYS(refusal("hot_space: cuda\n"), "no CUDA space");
  Accepted({"--config", directory.Write("ok.yaml", "coordination: static\n")});
}

TEST(Config, ListeningToTheWorldNeedsAWordForIt) {
  EXPECT_SAYS(Refusal({"--listen", "0.0.0.0:7070"}), "--insecure");
  EXPECT_SAYS(Refusal({"--metrics", "10.0.0.1:9090"}), "metrics: 10.0.0.1:9090");
  EXPECT_TRUE(Accepted({"--listen", "0.0.0.0:7070", "--insecure"}).insecure);
  Accepted({"--listen", "[::1]:7070", "--metrics", "localhost:0"});
}

TEST(Config, ImpossibleValuesAreRefused) {
  EXPECT_SAYS(Refusal({"--partitions", "48"}), "not a power of two");
  EXPECT_SAYS(Refusal({"--partitions", "2048"}), "from 1 to 1024");
  EXPECT_SAYS(Refusal({"--partitions", "8x"}), "whole number");
  EXPECT_SAYS(Refusal({"--shard", "1"}), "not below the number of shards, 1");
  EXPECT_SAYS(Refusal({"--shard", "-1"}), "whole number");
  EXPECT_SAYS(Refusal({"--shards", "a:1,b:2,c:3", "--partitions", "2"}), "as many partitions");
  EXPECT_SAYS(Refusal({"--shards", "a:1,a:1"}), "listed twice");
  EXPECT_SAYS(Refusal({"--shards", "a:1,,b:2"}), "empty");
  EXPECT_SAYS(Refusal({"--shards", "a:0"}), "with a port");
  EXPECT_SAYS(Refusal({"--listen", "7070"}), "HOST:PORT");
  EXPECT_SAYS(Refusal({"--tiers-hot-budget", "lots"}), "not a size");
  EXPECT_SAYS(Refusal({"--tiers-hot-budget", "1KiB"}), "less than 1MiB");
  EXPECT_SAYS(Refusal({"--rpc-memory", "1MiB"}), "rpc.memory");
  EXPECT_SAYS(Refusal({"--queue-max-bytes", "1MiB"}), "queue.max_bytes");
  EXPECT_SAYS(Refusal({"--queue-max-sessions", "0"}), "queue.max_sessions");
  EXPECT_SAYS(Refusal({"--queue-session-idle", "5s"}), "queue.session_idle");
  EXPECT_SAYS(Refusal({"--log-level", "loud"}), "debug, info, warn, error");
  EXPECT_SAYS(Refusal({"--drain-timeout", "10"}), "not a duration");
}

TEST(Config, UnknownFlagsGetASuggestion) {
  EXPECT_SAYS(Refusal({"--lisen", "127.0.0.1:1"}), "did you mean '--listen'");
  EXPECT_SAYS(Refusal({"--data_dir=/x"}), "did you mean '--data-dir'");
  EXPECT_SAYS(Refusal({"extra"}), "extra");
  EXPECT_SAYS(Refusal({"--listen"}), "--listen");
}

// What people write at first, and what brings them on.
TEST(Config, TypicalMistakesAreMetWithWhatToWriteInstead) {
  testing::TemporaryDirectory directory;
  const auto refusal = [&](const std::string& text) {
    return Refusal({"--config", directory.Write("c.yaml", text)});
  };
  EXPECT_SAYS(refusal("shard: 0\ntiers:\nhot_budget: 4GiB\n"), "c.yaml:2: tiers: is a section");
  EXPECT_SAYS(refusal("tiers: 4GiB\n"), "below it: hot_budget");
  EXPECT_SAYS(refusal("tiers:\n\thot_budget: 4GiB\n"), "c.yaml:2: indent with spaces");
  EXPECT_SAYS(refusal("shard: 0\n  listen: 127.0.0.1:1\n"), "c.yaml:2: illegal map value; look");
  EXPECT_SAYS(refusal("log:\n  level: debug\n"), "did you mean 'log_level'");
  EXPECT_SAYS(refusal("slow_call: 1s\n"), "did you mean 'log.slow_call'");
  EXPECT_SAYS(refusal("shard: 0\nmetrics: 9090\n"), "c.yaml:2: metrics: '9090' is not HOST:PORT");
  EXPECT_SAYS(refusal("listen: 0.0.0.0:1\n"), "c.yaml:1: listen: 0.0.0.0:1 can be reached");
  EXPECT_SAYS(refusal("shards: 2\n"), "c.yaml:1: shards: '2' is not HOST:PORT");
  EXPECT_SAYS(refusal("port: 7070\n"), "did you mean 'listen'");
  EXPECT_SAYS(refusal("threads: 4\n"), "did you mean 'strands'");
  EXPECT_SAYS(refusal("Listen: 127.0.0.1:1\n"), "did you mean 'listen'");
  EXPECT_SAYS(refusal("data-dir: /x\n"), "did you mean 'data_dir'");
  EXPECT_SAYS(refusal("data_dir: ~/hotrow\n"), "write the whole path");
  EXPECT_SAYS(refusal("tiers: {hot_budget: 90%}\n"), "write for example 512MiB");
  EXPECT_SAYS(refusal("drain_timeout: 60\n"), "write for example 250ms");
  EXPECT_SAYS(refusal("insecure: yes\n"), "true or false");
  EXPECT_SAYS(Refusal({"--metrics", "9090"}), "--metrics: metrics: '9090'");
  EXPECT_SAYS(Refusal({"--port", "7070"}), "did you mean '--listen'");
  EXPECT_SAYS(Refusal({"--conf", "c.yaml"}), "did you mean '--config'");
  EXPECT_SAYS(Refusal({"-c", "c.yaml"}), "--config c.yaml");
  EXPECT_SAYS(Refusal({"c.yaml"}), "--config c.yaml");
  EXPECT_SAYS(Refusal({"--check-confg"}), "did you mean '--check-config'");
  EXPECT_SAYS(Refusal({}, {"HOTROW_METRICS=9090"}), "HOTROW_METRICS: metrics: '9090'");
  EXPECT_SAYS(Refusal({}, {"HOTROW_LOG_SLOW_CALL=1s"}), "did you mean 'log.slow_call'");
}

TEST(Config, TheFileMayBeNamedInTheEnvironment) {
  testing::TemporaryDirectory directory;
  const std::string file = directory.Write("c.yaml", "partitions: 8\n");
  const std::string other = directory.Write("d.yaml", "partitions: 16\n");
  EXPECT_EQ(Accepted({}, {"HOTROW_CONFIG=" + file}).partitions, 8u);
  EXPECT_EQ(Accepted({"--config", other}, {"HOTROW_CONFIG=" + file}).partitions, 16u);
  EXPECT_SAYS(Refusal({}, {"HOTROW_CONFIG=" + directory.File("none")}), "cannot be read");
}

TEST(Config, AnAdminListenerIsAnAddressOfItsOwn) {
  EXPECT_EQ(Accepted({}).admin_listen, "");
  EXPECT_EQ(Accepted({"--admin-listen", "127.0.0.1:7071"}).admin_listen, "127.0.0.1:7071");
  EXPECT_EQ(Accepted({}, {"HOTROW_ADMIN_LISTEN=127.0.0.1:0"}).admin_listen, "127.0.0.1:0");
  EXPECT_SAYS(Refusal({"--admin-listen", "7071"}), "HOST:PORT");
  EXPECT_SAYS(Refusal({"--admin-listen", "0.0.0.0:7071"}), "--insecure");
  EXPECT_SAYS(Refusal({"--admin-listen", "127.0.0.1:7070"}), "the address of listen already");
  EXPECT_SAYS(Refusal({"--metrics", "127.0.0.1:1", "--admin-listen", "127.0.0.1:1"}),
              "admin_listen: 127.0.0.1:1 is the address of metrics already");
  Accepted(
      {"--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"});
}

TEST(Config, SlowCallsHaveAThresholdThatCanBeTurnedOff) {
  EXPECT_EQ(Accepted({}).slow_call, std::chrono::milliseconds(250));
  EXPECT_EQ(Accepted({"--log-slow-call", "1.5s"}).slow_call, std::chrono::milliseconds(1500));
  EXPECT_EQ(Accepted({}, {"HOTROW_LOG__SLOW_CALL=0"}).slow_call.count(), 0);
  EXPECT_SAYS(Refusal({"--log-slow-call", "fast"}), "not a duration");
}

TEST(Config, WhatItPrintsIsWhatItReads) {
  testing::TemporaryDirectory directory;
  const Words arguments = {"--shards",
                           "127.0.0.1:1,127.0.0.1:2",
                           "--shard",
                           "1",
                           "--data-dir",
                           "/with \"quotes\" and \\",
                           "--unix",
                           "/tmp/a b.sock",
                           "--tiers-hot-budget",
                           "7MiB",
                           "--queue-max-sessions",
                           "17",
                           "--queue-session-idle",
                           "90m",
                           "--admin-listen",
                           "127.0.0.1:3",
                           "--log-slow-call",
                           "0",
                           "--insecure"};
  Words printing = arguments;
  printing.push_back("--print-config");
  const auto printed = ParseCommandLine(printing, {});
  ASSERT_TRUE(printed.ok());
  ASSERT_TRUE(printed->answer.has_value());
  const std::string file = directory.Write("printed.yaml", *printed->answer);
  EXPECT_EQ(PrintConfig(Accepted({"--config", file})), *printed->answer);
  EXPECT_EQ(Accepted({"--config", file}).data_dir, "/with \"quotes\" and \\");
  EXPECT_EQ(Accepted({"--config", file}).max_sessions, 17);
  EXPECT_EQ(Accepted({"--config", file}).session_idle, std::chrono::minutes(90));
}

TEST(Config, HelpNamesEveryKeyAndVersionAndCheckAnswer) {
  const auto help = ParseCommandLine({"--help"}, {});
  ASSERT_TRUE(help.ok() && help->answer.has_value());
  for (const char* flag : {"--listen", "--unix", "--metrics", "--data-dir", "--shard", "--shards",
                           "--ready-file", "--config", "--check-config", "--tiers-hot-budget"}) {
    EXPECT_SAYS(*help->answer, flag);
  }
  EXPECT_SAYS(*ParseCommandLine({"--version"}, {})->answer, "hotrow-server ");
  EXPECT_TRUE(ParseCommandLine({"--check-config"}, {})->answer.has_value());
  EXPECT_FALSE(ParseCommandLine({}, {})->answer.has_value());
}

TEST(Config, TiersAreTakenWithTheirSizes) {
  const ServerConfig config =
      Accepted({"--data-dir", "/d", "--tiers-hot-budget", "2GiB", "--tiers-warm-budget", "8GiB",
                "--tiers-disk-budget", "200GiB", "--tiers-disk-read-threads", "16"});
  EXPECT_EQ(config.warm_budget_bytes, int64_t{8} << 30);
  EXPECT_EQ(config.disk_budget_bytes, int64_t{200} << 30);
  EXPECT_EQ(config.disk_read_threads, 16);
  EXPECT_GT(config.disk_memory_bytes, 0);
  EXPECT_GT(config.write_queue_bytes, 0);
}

TEST(Config, TiersThatCannotBeAreRefused) {
  EXPECT_SAYS(Refusal({"--tiers-disk-budget", "1GiB"}), "need data_dir");
  EXPECT_SAYS(Refusal({"--data-dir", "/d", "--tiers-disk-budget", "1MiB"}), "less than 64MiB");
  EXPECT_SAYS(
      Refusal({"--data-dir", "/d", "--tiers-disk-budget", "1GiB", "--tiers-disk-memory", "1MiB"}),
      "tiers.disk_memory: less than 4MiB");
  EXPECT_SAYS(
      Refusal({"--data-dir", "/d", "--tiers-disk-budget", "1GiB", "--tiers-write-queue", "1MiB"}),
      "tiers.write_queue: less than 4MiB");
  EXPECT_SAYS(Refusal({"--tiers-warm-budget", "1KiB"}), "less than 1MiB");
}

TEST(Config, AMemoryBudgetIsSharedOutAndKeptTo) {
  const auto sum = [](const ServerConfig& config) {
    int64_t bytes = 0;
    for (const MemoryPart& part : MemoryParts(config)) bytes += part.bytes;
    return bytes;
  };
  const ServerConfig small = Accepted({"--memory-budget", "1GiB"});
  EXPECT_EQ(sum(small), int64_t{1} << 30) << "the hot tier gets what the others leave";
  EXPECT_GT(small.hot_budget_bytes, int64_t{300} << 20);
  const ServerConfig disk = Accepted({"--memory-budget", "3GiB", "--tiers-hot-budget", "2GiB",
                                      "--data-dir", "/d", "--tiers-disk-budget", "20GiB"});
  EXPECT_EQ(disk.hot_budget_bytes, int64_t{2} << 30);
  EXPECT_LE(sum(disk), int64_t{3} << 30);
  EXPECT_LE(disk.disk_memory_bytes, (int64_t{3} << 30) / 16);
  const std::string message = Refusal({"--memory-budget", "1GiB", "--tiers-hot-budget", "1GiB"});
  EXPECT_SAYS(message, "memory_budget: 1GiB is less than what its parts may take");
  EXPECT_SAYS(message, "tiers.hot_budget 1GiB");
  EXPECT_SAYS(message, "queue.max_bytes");
  EXPECT_SAYS(Refusal({"--memory-budget", "300MiB"}), "less than what its parts may take");
}

TEST(Config, TheDefaultBudgetIsAShareOfTheMachine) {
  const ServerConfig config = Accepted({});
  EXPECT_GT(config.hot_budget_bytes, int64_t{16} << 20);
  EXPECT_GE(config.event_loops, 1);
}

}  // namespace
}  // namespace hotrow
