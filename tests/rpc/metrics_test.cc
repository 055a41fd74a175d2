#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include "server/ops/metrics_page.h"
#include "tests/rpc/temporary_directory.h"

namespace hotrow {
namespace {

v1::GetStatsResponse StatsOf(int tables) {
  v1::GetStatsResponse stats;
  stats.set_memory_used_bytes(1000);
  stats.set_memory_budget_bytes(5000);
  stats.set_warm_used_bytes(300);
  stats.set_warm_budget_bytes(400);
  stats.set_disk_budget_bytes(9000);
  stats.mutable_cold()->set_disk_bytes(700);
  stats.mutable_cold()->set_rows_read(77);
  stats.set_sub_pushes_duplicate(7);
  for (int i = 0; i < tables; ++i) {
    v1::TableStats* table = stats.add_tables();
    table->set_table_id(static_cast<uint32_t>(2000 - i));  // the last one by name is the oldest
    table->set_name("t" + std::to_string(1000 + i));
    table->set_rows(10);
    table->set_rows_pulled(5);
    table->set_rows_pulled_initial(2);
    table->set_rows_created(4);
    table->set_slots(40);
    table->set_keys_pushed(8);
    table->set_keys_pushed_unique(6);
    table->set_rows_refused(9);
    table->set_gradients_refused(3);
    table->set_gradients_nonfinite(1);
    table->set_evictions(12);
    for (const auto& [name, rows, pulled] :
         {std::tuple("hot", 10, 3), std::tuple("warm", 6, 1), std::tuple("cold", 9, 2)}) {
      v1::TierStats* const tier = table->add_tiers();
      tier->set_name(name);
      tier->set_rows(rows);
      tier->set_rows_pulled(pulled);
    }
  }
  v1::Histogram* staleness = stats.mutable_push_staleness_steps();
  for (const uint64_t bound : {0, 1}) staleness->add_bounds(bound);
  for (const uint64_t count : {4, 2, 1}) staleness->add_counts(count);
  staleness->set_sum(12);
  v1::OptimizerTimes* times = stats.add_optimizer_times();
  times->set_optimizer("adam");
  times->mutable_apply_ns()->add_bounds(50'000);
  for (const uint64_t count : {3, 2}) times->mutable_apply_ns()->add_counts(count);
  times->mutable_apply_ns()->set_sum(1'500'000'000);
  return stats;
}

std::string Render(const RpcMetrics& rpc, int tables) {
  const v1::GetStatsResponse stats = StatsOf(tables);
  TableLabels labels;
  return RenderMetrics({.rpc = &rpc,
                        .stats = stats,
                        .sub_pushes = {.applied = 11,
                                       .duplicate = 7,
                                       .refused = 5,
                                       .retried = 4,
                                       .conflicts = 3,
                                       .damaged = 2},
                        .connections = {.open = 21, .limit = 22, .accepted = 24, .refused = 25},
                        .labelled_tables = labels.Of(stats),
                        .start_time_seconds = 1,
                        .state = "serving",
                        .version = "1.2.3"});
}

bool HasLine(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, EveryPromisedFamilyIsThere) {
  RpcMetrics rpc;
  const std::string text = Render(rpc, 1);
  for (const char* family : {"hotrow_build_info",
                             "hotrow_start_time_seconds",
                             "hotrow_shard_state",
                             "hotrow_connections",
                             "hotrow_connections_limit",
                             "hotrow_connections_accepted_total",
                             "hotrow_connections_refused_total",
                             "hotrow_rpc_requests_total",
                             "hotrow_rpc_in_flight",
                             "hotrow_rpc_duration_seconds",
                             "hotrow_rpc_received_bytes_total",
                             "hotrow_rpc_sent_bytes_total",
                             "hotrow_rows_pulled_total",
                             "hotrow_rows_pushed_total",
                             "hotrow_rows_created_total",
                             "hotrow_tier_rows",
                             "hotrow_tier_used_bytes",
                             "hotrow_tier_capacity_bytes",
                             "hotrow_tier_promotions_total",
                             "hotrow_tier_evictions_total",
                             "hotrow_tier_eviction_failures_total",
                             "hotrow_tier_read_failures_total",
                             "hotrow_table_rows",
                             "hotrow_rocksdb_written_bytes_total",
                             "hotrow_gradients_refused_total",
                             "hotrow_gradients_nonfinite_total",
                             "hotrow_slot_index_load_factor_ratio",
                             "hotrow_slot_index_insert_failures_total",
                             "hotrow_rpc_stage_duration_seconds",
                             "hotrow_rpc_slow_calls_total",
                             "hotrow_keys_per_request",
                             "hotrow_unique_keys_ratio",
                             "hotrow_queue_wait_seconds",
                             "hotrow_push_staleness_steps",
                             "hotrow_optimizer_apply_duration_seconds",
                             "process_start_time_seconds",
                             "hotrow_push_duplicates_total",
                             "hotrow_sub_pushes_total",
                             "hotrow_push_conflicts_total",
                             "hotrow_push_damaged_total",
                             "hotrow_log_lines_dropped_total",
                             "hotrow_overload_rejections_total",
                             "hotrow_queue_depth",
                             "process_resident_memory_bytes",
                             "process_cpu_seconds_total",
                             "process_open_fds",
                             "process_max_fds"}) {
    EXPECT_NE(text.find("# TYPE " + std::string(family) + " "), std::string::npos) << family;
    EXPECT_NE(text.find("# HELP " + std::string(family) + " "), std::string::npos) << family;
  }
  EXPECT_TRUE(HasLine(text, "hotrow_build_info{version=\"1.2.3\"} 1"));
  EXPECT_TRUE(HasLine(text, "hotrow_shard_state{state=\"serving\"} 1"));
  EXPECT_TRUE(HasLine(text, "hotrow_shard_state{state=\"draining\"} 0"));
  EXPECT_TRUE(HasLine(text, "hotrow_rows_pulled_total{table=\"t1000\",tier=\"hot\"} 3"));
  EXPECT_TRUE(HasLine(text, "hotrow_rows_pulled_total{table=\"t1000\",tier=\"new\"} 2"));
  EXPECT_TRUE(HasLine(text, "hotrow_rows_pulled_total{table=\"t1000\",tier=\"cold\"} 2"));
  EXPECT_TRUE(HasLine(text, "hotrow_tier_used_bytes{tier=\"hot\"} 700"));
  EXPECT_TRUE(HasLine(text, "hotrow_tier_used_bytes{tier=\"warm\"} 300"));
  EXPECT_TRUE(HasLine(text, "hotrow_tier_used_bytes{tier=\"cold\"} 700"));
  EXPECT_TRUE(HasLine(text, "hotrow_tier_capacity_bytes{tier=\"cold\"} 9000"));
  EXPECT_TRUE(HasLine(text, "hotrow_tier_evictions_total{table=\"t1000\"} 12"));
  EXPECT_TRUE(HasLine(text, "hotrow_table_rows{table=\"t1000\"} 10"));
  EXPECT_TRUE(HasLine(text, "hotrow_cold_rows_read_total 77"));
  EXPECT_TRUE(HasLine(text, "hotrow_push_duplicates_total 7"));
  EXPECT_TRUE(HasLine(text, "hotrow_sub_pushes_total{outcome=\"applied\"} 11"));
  EXPECT_TRUE(HasLine(text, "hotrow_sub_pushes_total{outcome=\"duplicate\"} 7"));
  EXPECT_TRUE(HasLine(text, "hotrow_sub_pushes_total{outcome=\"refused\"} 5"));
  EXPECT_TRUE(HasLine(text, "hotrow_sub_pushes_total{outcome=\"retried\"} 4"));
  EXPECT_TRUE(HasLine(text, "hotrow_push_conflicts_total 3"));
  EXPECT_TRUE(HasLine(text, "hotrow_push_damaged_total 2"));
  EXPECT_TRUE(HasLine(text, "hotrow_connections 21"));
  EXPECT_TRUE(HasLine(text, "hotrow_connections_limit 22"));
  EXPECT_TRUE(HasLine(text, "hotrow_connections_accepted_total 24"));
  EXPECT_TRUE(HasLine(text, "hotrow_connections_refused_total 25"));
  EXPECT_TRUE(HasLine(text, "hotrow_slot_index_load_factor_ratio{table=\"t1000\"} 0.25"));
  EXPECT_TRUE(HasLine(text, "hotrow_unique_keys_ratio{table=\"t1000\"} 0.75"));
  EXPECT_TRUE(HasLine(text, "hotrow_slot_index_insert_failures_total{table=\"t1000\"} 9"));
  EXPECT_TRUE(HasLine(text, "hotrow_gradients_nonfinite_total{table=\"t1000\"} 1"));
}

TEST(Metrics, RequestsAreCountedByCodeAndDuration) {
  RpcMetrics rpc;
  const auto start = rpc.Begin(Method::kPull);
  rpc.Begin(Method::kPull);
  EXPECT_TRUE(HasLine(Render(rpc, 0), "hotrow_rpc_in_flight{method=\"Pull\"} 2"));
  EXPECT_TRUE(HasLine(Render(rpc, 0), "hotrow_queue_depth 2"));
  rpc.End(Method::kPull, start, {.code = 0, .received_bytes = 3, .sent_bytes = 5});
  rpc.End(Method::kPull, start - std::chrono::milliseconds(30), {.code = 14});
  rpc.CountOverload();
  const std::string text = Render(rpc, 0);
  EXPECT_TRUE(HasLine(text, "hotrow_rpc_requests_total{method=\"Pull\",code=\"OK\"} 1"));
  EXPECT_TRUE(HasLine(text, "hotrow_rpc_requests_total{method=\"Pull\",code=\"UNAVAILABLE\"} 1"));
  EXPECT_TRUE(HasLine(text, "hotrow_rpc_in_flight{method=\"Pull\"} 0"));
  EXPECT_TRUE(HasLine(text, "hotrow_rpc_received_bytes_total{method=\"Pull\"} 3"));
  EXPECT_TRUE(HasLine(text, "hotrow_rpc_sent_bytes_total{method=\"Pull\"} 5"));
  EXPECT_TRUE(HasLine(text, "hotrow_rpc_duration_seconds_count{method=\"Pull\"} 2"));
  EXPECT_TRUE(HasLine(text, "hotrow_rpc_duration_seconds_bucket{method=\"Pull\",le=\"5\"} 2"));
  EXPECT_TRUE(HasLine(text, "hotrow_overload_rejections_total 1"));
}

TEST(Metrics, HistogramsOfTheShardKeepTheirBoundsAndUnits) {
  RpcMetrics rpc;
  const std::string text = Render(rpc, 0);
  EXPECT_TRUE(HasLine(text, "hotrow_push_staleness_steps_bucket{le=\"0\"} 4"));
  EXPECT_TRUE(HasLine(text, "hotrow_push_staleness_steps_bucket{le=\"1\"} 6"));
  EXPECT_TRUE(HasLine(text, "hotrow_push_staleness_steps_bucket{le=\"+Inf\"} 7"));
  EXPECT_TRUE(HasLine(text, "hotrow_push_staleness_steps_sum 12"));
  const std::string apply = "hotrow_optimizer_apply_duration_seconds";
  EXPECT_TRUE(HasLine(text, apply + "_sum{optimizer=\"adam\"} 1.5"));
  EXPECT_TRUE(HasLine(text, apply + "_bucket{optimizer=\"adam\",le=\"5e-05\"} 3"));
  EXPECT_TRUE(HasLine(text, apply + "_count{optimizer=\"adam\"} 5"));
}

TEST(Metrics, StagesAndKeysOfThreadsAddUp) {
  constexpr int kThreads = 40;  // more than cells
  RpcMetrics rpc;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&rpc] {
      rpc.CountKeys(Method::kPush, 100);
      StageTimes stages{};
      stages[static_cast<size_t>(Stage::kQueue)] = std::chrono::milliseconds(3);
      rpc.CountStages(Method::kPush, stages);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = Render(rpc, 0);
  EXPECT_TRUE(HasLine(text, "hotrow_keys_per_request_sum{method=\"Push\"} 4000"));
  EXPECT_TRUE(HasLine(text, "hotrow_keys_per_request_bucket{method=\"Push\",le=\"64\"} 0"));
  EXPECT_TRUE(HasLine(text, "hotrow_keys_per_request_bucket{method=\"Push\",le=\"256\"} 40"));
  const std::string stage = "hotrow_rpc_stage_duration_seconds_count{method=\"Push\",stage=";
  EXPECT_TRUE(HasLine(text, stage + "\"queue\"} 40"));
  EXPECT_TRUE(HasLine(text, stage + "\"encode\"} 40"));
  EXPECT_TRUE(HasLine(text, "hotrow_queue_wait_seconds_count 40"));
  EXPECT_TRUE(HasLine(text, "hotrow_queue_wait_seconds_sum 0.12"));
}

TEST(Metrics, ACodeOutOfRangeIsUnknown) {
  RpcMetrics rpc;
  rpc.End(Method::kPush, rpc.Begin(Method::kPush), {.code = 99});
  EXPECT_TRUE(
      HasLine(Render(rpc, 0), "hotrow_rpc_requests_total{method=\"Push\",code=\"UNKNOWN\"} 1"));
}

TEST(Metrics, TablesBeyondTheLimitAreSummedInTheOrderOfTheirCreation) {
  RpcMetrics rpc;
  constexpr int kLabels = kMaxTableLabels;
  const std::string at_limit = Render(rpc, kLabels);
  EXPECT_EQ(at_limit.find("\"(other)\""), std::string::npos);
  const std::string over = Render(rpc, kLabels + 3);
  EXPECT_TRUE(HasLine(over, "hotrow_tier_rows{table=\"(other)\",tier=\"hot\"} 30"));
  EXPECT_TRUE(HasLine(over, "hotrow_tier_rows{table=\"t1066\",tier=\"hot\"} 10"));
  EXPECT_TRUE(HasLine(over, "hotrow_tier_rows{table=\"t1003\",tier=\"hot\"} 10"));
  EXPECT_EQ(over.find("\"t1002\""), std::string::npos) << "the newest ones";
}

TEST(Metrics, ATableKeepsItsLabelAsLongAsItLives) {
  constexpr uint32_t kLabels = kMaxTableLabels;
  TableLabels labels;
  v1::GetStatsResponse stats;
  for (uint32_t id = 1; id <= kLabels + 2; ++id) stats.add_tables()->set_table_id(id);
  std::set<uint32_t> first = labels.Of(stats);
  EXPECT_EQ(first.size(), kMaxTableLabels);
  EXPECT_FALSE(first.contains(kLabels + 1));
  // One is dropped: its label goes to the next new table, not to those that are summed.
  stats.mutable_tables()->DeleteSubrange(4, 1);
  first.erase(5);
  EXPECT_EQ(labels.Of(stats), first);
  stats.add_tables()->set_table_id(1000);
  stats.add_tables()->set_table_id(1001);
  first.insert(1000);
  EXPECT_EQ(labels.Of(stats), first);
}

// Whoever watches for restarts takes a start that moves for one.
TEST(Metrics, TheStartOfTheProcessStaysTheSame) {
  const auto start_time = [] {
    std::vector<prometheus::MetricFamily> families;
    AppendProcessMetrics(families);
    for (const prometheus::MetricFamily& family : families) {
      if (family.name == "process_start_time_seconds") return family.metric[0].gauge.value;
    }
    return 0.0;
  };
  const double first = start_time();
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_GT(first, now - 3600);
  EXPECT_LE(first, now);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(start_time(), first);
}

TEST(Metrics, PromtoolFindsNothingToSay) {
  ASSERT_EQ(std::system("command -v promtool > /dev/null 2>&1"), 0)
      << "promtool is not installed: scripts/install_packages.sh test";
  testing::TemporaryDirectory directory;
  RpcMetrics rpc;
  rpc.End(Method::kPull, rpc.Begin(Method::kPull), {.code = 0});
  const std::string file = directory.Write("metrics.txt", Render(rpc, 70));
  EXPECT_EQ(std::system(("promtool check metrics < " + file).c_str()), 0);
}

}  // namespace
}  // namespace hotrow
