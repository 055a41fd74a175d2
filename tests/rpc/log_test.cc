#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/ops/log_fields.h"
#include "server/ops/log_limit.h"
#include "server/ops/log_sink.h"
#include "server/ops/trace_parent.h"

namespace hotrow {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A log whose lines and time are the test's.
struct TestLog {
  explicit TestLog(LogFormat format)
      : sink(std::make_shared<LogSink>(
            LogSink::Options{.format = format,
                             .shard = 3,
                             .write = [this](const std::string& line) { lines.push_back(line); },
                             .now = [this] { return now; }})),
        logger("test", sink) {}

  // From one place in the code.
  void Warn(const std::string& text) { SPDLOG_LOGGER_WARN(&logger, "{}", text); }
  nlohmann::json Json(size_t i) const { return nlohmann::json::parse(lines.at(i)); }

  std::vector<std::string> lines;
  LogLimit::Time now{seconds(1000)};
  std::shared_ptr<LogSink> sink;
  spdlog::logger logger;
};

constexpr int kBurst = static_cast<int>(LogLimit::kBurst);

TEST(Log, ALineIsOneJsonObject) {
  TestLog log(LogFormat::kJson);
  log.Warn("path \"a\\b\"\nforged: {\xff");
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(std::count(log.lines[0].begin(), log.lines[0].end(), '\n'), 1);
  const nlohmann::json line = log.Json(0);
  EXPECT_EQ(line["msg"], "path \"a\\b\"\nforged: {\xEF\xBF\xBD");
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["shard"], 3);
  const std::string ts = line["ts"];
  ASSERT_EQ(ts.size(), strlen("2026-01-01T00:00:00.000Z"));
  EXPECT_EQ(ts[10], 'T');
  EXPECT_EQ(ts.back(), 'Z');
  EXPECT_EQ(line.size(), 4u);
}

TEST(Log, TextKeepsToOneLineWhateverAMessageHolds) {
  TestLog log(LogFormat::kText);
  log.Warn("first\nsecond\x1b[2J");
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("warning shard 3: first second [2J\n"), std::string::npos)
      << log.lines[0];
}

TEST(Log, FieldsComeWithTheLinesOfTheirThreadWhileTheyLive) {
  TestLog log(LogFormat::kJson);
  {
    const LogFields outer(nlohmann::json::object({{"rpc", "Pull"}}));
    {
      const LogFields inner(
          nlohmann::json::object({{"rpc", "Push"}, {"trace_id", "x\"y"}, {"duration_ms", 1.5}}));
      log.Warn("a");
    }
    log.Warn("b");
  }
  log.Warn("c");
  EXPECT_EQ(log.Json(0)["rpc"], "Push");
  EXPECT_EQ(log.Json(0)["trace_id"], "x\"y");
  EXPECT_EQ(log.Json(0)["duration_ms"], 1.5);
  EXPECT_EQ(log.Json(1)["rpc"], "Pull");
  EXPECT_FALSE(log.Json(1).contains("trace_id"));
  EXPECT_FALSE(log.Json(2).contains("rpc"));
}

TEST(Log, LinesOfOnePlaceAreBoundedThoughEachDiffers) {
  TestLog log(LogFormat::kJson);
  for (int i = 0; i < 1000; ++i) log.Warn("a client at port " + std::to_string(i));
  EXPECT_EQ(log.lines.size(), static_cast<size_t>(kBurst));
  // Other places are not held up.
  SPDLOG_LOGGER_WARN(&log.logger, "elsewhere");
  EXPECT_EQ(log.Json(log.lines.size() - 1)["msg"], "elsewhere");
}

TEST(Log, TheNextLineTellsHowManyWereLeftOut) {
  TestLog log(LogFormat::kJson);
  for (int i = 0; i < kBurst + 7; ++i) log.Warn("x" + std::to_string(i));
  log.now += milliseconds(1500);
  log.Warn("after");
  ASSERT_EQ(log.lines.size(), static_cast<size_t>(kBurst) + 1);
  EXPECT_EQ(log.Json(kBurst)["msg"], "after");
  EXPECT_EQ(log.Json(kBurst)["left_out"], 7);
  log.now += seconds(60);
  log.Warn("quiet again");
  EXPECT_FALSE(log.Json(kBurst + 1).contains("left_out"));
}

TEST(Log, TheEndOfAFloodIsToldWithItsLastLine) {
  TestLog log(LogFormat::kText);
  for (int i = 0; i < kBurst + 5; ++i) log.Warn("x" + std::to_string(i));
  log.sink->ReportLeftOut(LogLimit::Which::kAllowed);
  EXPECT_EQ(log.lines.size(), static_cast<size_t>(kBurst)) << "no token yet";
  log.now += seconds(2);
  log.sink->ReportLeftOut(LogLimit::Which::kAllowed);
  log.sink->ReportLeftOut(LogLimit::Which::kAllowed);
  ASSERT_EQ(log.lines.size(), static_cast<size_t>(kBurst) + 1);
  EXPECT_NE(log.lines.back().find("x14 (4 more like it left out)"), std::string::npos)
      << log.lines.back();
}

TEST(Log, WhatWasLeftOutIsToldBeforeTheEnd) {
  TestLog log(LogFormat::kJson);
  for (int i = 0; i < kBurst + 3; ++i) {
    const LogFields fields(nlohmann::json::object({{"rpc", "Scan"}}));
    log.Warn("x" + std::to_string(i));
  }
  log.sink->ReportLeftOut(LogLimit::Which::kAll);
  ASSERT_EQ(log.lines.size(), static_cast<size_t>(kBurst) + 1);
  EXPECT_EQ(log.Json(kBurst)["msg"], "x12");
  EXPECT_EQ(log.Json(kBurst)["rpc"], "Scan");
  EXPECT_EQ(log.Json(kBurst)["left_out"], 2);
}

TEST(LogLimit, APlaceBeyondTheLimitSharesABucketWithOthers) {
  LogLimit limit;
  const LogLimit::Time now{seconds(5)};
  int written = 0;
  for (int line = 1; line <= 2000; ++line) {
    written += limit.Take({"file.cc", line}, {}, now).has_value() ? 1 : 0;
  }
  EXPECT_EQ(written, static_cast<int>(LogLimit::kMaxPlaces) + kBurst);
}

TEST(LogLimit, TokensComeBackAtTheStatedRateUpToTheBurst) {
  LogLimit limit;
  LogLimit::Time now{seconds(5)};
  const auto take = [&] { return limit.Take({"file.cc", 1}, {}, now).has_value(); };
  for (int i = 0; i < kBurst; ++i) EXPECT_TRUE(take());
  EXPECT_FALSE(take());
  now += milliseconds(999);
  EXPECT_FALSE(take());
  now += milliseconds(2);
  EXPECT_TRUE(take());
  EXPECT_FALSE(take());
  now += std::chrono::hours(1);
  for (int i = 0; i < kBurst; ++i) EXPECT_TRUE(take());
  EXPECT_FALSE(take());
}

TEST(LogLimit, ALongLineIsKeptInPart) {
  LogLimit limit;
  const LogLimit::Time now{seconds(5)};
  for (int i = 0; i <= kBurst; ++i) {
    limit.Take({"file.cc", 1}, {.text = std::string(1 << 20, 'x')}, now);
  }
  const auto lines = limit.TakeLeftOut(LogLimit::Which::kAll, now);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].line.text.size(), LogLimit::kKeptBytes);
}

TEST(Log, MessagesCannotBreakOutOfTheirJsonString) {
  EXPECT_EQ(JsonEscaped("plain"), "plain");
  EXPECT_EQ(JsonEscaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(JsonEscaped("\xff"), "\xEF\xBF\xBD");
}

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";

TEST(TraceParent, GivesTheTraceOfAHeaderThatKeepsTheForm) {
  const std::string header = std::string("00-") + kTrace + "-b7ad6b7169203331-01";
  EXPECT_EQ(TraceIdOf(header), kTrace);
  const std::string later = std::string("cc-") + kTrace + "-b7ad6b7169203331-01";
  EXPECT_EQ(TraceIdOf(later), kTrace);
  EXPECT_EQ(TraceIdOf(later + "-what-the-future-brings"), kTrace);
}

TEST(TraceParent, IgnoresWhatDoesNot) {
  const std::string good = std::string("00-") + kTrace + "-b7ad6b7169203331-01";
  // A character that is no small hexadecimal digit, or no dash, at any place.
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char wrong : {'g', 'A', '\0', '"', '\n'}) {
      std::string bad = good;
      bad[i] = wrong;
      EXPECT_EQ(TraceIdOf(bad), "") << i << " " << static_cast<int>(wrong);
    }
    EXPECT_EQ(TraceIdOf(good.substr(0, i)), "") << i;
  }
  EXPECT_EQ(TraceIdOf(good + "-more"), "");
  EXPECT_EQ(TraceIdOf("ff" + good.substr(2)), "");
  EXPECT_EQ(TraceIdOf("cc" + good.substr(2) + "x"), "");
  EXPECT_EQ(TraceIdOf("cc" + good.substr(2) + "-" + std::string(kMaxTraceParentBytes, 'x')), "");
  EXPECT_EQ(TraceIdOf("00-00000000000000000000000000000000-b7ad6b7169203331-01"), "");
  EXPECT_EQ(TraceIdOf(std::string("00-") + kTrace + "-0000000000000000-01"), "");
}

}  // namespace
}  // namespace hotrow
