#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "server/ops/metrics_page.h"
#include "tests/rpc/temporary_directory.h"

namespace hotrow {
namespace {

v1::GetStatsResponse StatsOf(int tables) {
  v1::GetStatsResponse stats;
  stats.set_memory_used_bytes(1000);
  stats.set_memory_budget_bytes(5000);
  stats.set_sub_pushes_duplicate(7);
  for (int i = 0; i < tables; ++i) {
    v1::TableStats* table = stats.add_tables();
    table->set_name("t" + std::to_string(1000 + i));
    table->set_rows(10);
    table->set_rows_pulled(5);
    table->set_rows_pulled_initial(2);
    table->set_rows_created(4);
  }
  return stats;
}

std::string Render(const RpcMetrics& rpc, int tables) {
  return RenderMetrics({.rpc = &rpc,
                        .stats = StatsOf(tables),
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
                             "hotrow_gradients_refused_total",
                             "hotrow_push_duplicates_total",
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
  EXPECT_TRUE(HasLine(text, "hotrow_tier_used_bytes{tier=\"hot\"} 1000"));
  EXPECT_TRUE(HasLine(text, "hotrow_push_duplicates_total 7"));
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

TEST(Metrics, ACodeOutOfRangeIsUnknown) {
  RpcMetrics rpc;
  rpc.End(Method::kPush, rpc.Begin(Method::kPush), {.code = 99});
  EXPECT_TRUE(
      HasLine(Render(rpc, 0), "hotrow_rpc_requests_total{method=\"Push\",code=\"UNKNOWN\"} 1"));
}

TEST(Metrics, TablesBeyondTheLimitAreSummedAsOther) {
  RpcMetrics rpc;
  const std::string at_limit = Render(rpc, kMaxTableLabels);
  EXPECT_EQ(at_limit.find("\"other\""), std::string::npos);
  const std::string over = Render(rpc, kMaxTableLabels + 3);
  EXPECT_TRUE(HasLine(over, "hotrow_tier_rows{table=\"other\",tier=\"hot\"} 30"));
  EXPECT_TRUE(HasLine(over, "hotrow_tier_rows{table=\"t1063\",tier=\"hot\"} 10"));
  EXPECT_EQ(over.find("t1064"), std::string::npos);
}

TEST(Metrics, PromtoolFindsNothingToSay) {
  if (std::system("command -v promtool > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed";
  }
  testing::TemporaryDirectory directory;
  RpcMetrics rpc;
  rpc.End(Method::kPull, rpc.Begin(Method::kPull), {.code = 0});
  const std::string file = directory.Write("metrics.txt", Render(rpc, 70));
  EXPECT_EQ(std::system(("promtool check metrics < " + file).c_str()), 0);
}

}  // namespace
}  // namespace hotrow
