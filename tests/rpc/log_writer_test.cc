#include "server/ops/log_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hotrow {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Whoever reads the log: takes nothing until it is let.
class Reader {
 public:
  explicit Reader(bool reads) : reads_(reads) {}

  LogWriter::Options Options() {
    return {.write = [this](const std::string& line) { Take(line); },
            .dropped_lines = [](uint64_t lines) { return fmt::format("{} dropped", lines); }};
  }
  void Read() {
    const std::lock_guard<std::mutex> lock(mutex_);
    reads_ = true;
    changed_.notify_all();
  }
  // Until the writer is stuck with a line.
  void WaitUntilStuck() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stuck_; });
  }
  std::vector<std::string> lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  void Take(const std::string& line) {
    std::unique_lock<std::mutex> lock(mutex_);
    stuck_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return reads_; });
    lines_.push_back(line);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool reads_;
  bool stuck_ = false;
  std::vector<std::string> lines_;
};

TEST(LogWriter, WritesLinesInTheirOrder) {
  Reader reader(true);
  LogWriter writer(reader.Options());
  EXPECT_TRUE(writer.Flush(milliseconds(0))) << "nothing to wait for";
  for (int i = 0; i < 1000; ++i) writer.Add(std::to_string(i));
  ASSERT_TRUE(writer.Flush(seconds(60)));
  const std::vector<std::string> lines = reader.lines();
  ASSERT_EQ(lines.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(lines[i], std::to_string(i));
}

TEST(LogWriter, ALogThatNobodyReadsHoldsNobodyUp) {
  constexpr size_t kMore = 17;
  Reader reader(false);
  auto writer = std::make_unique<LogWriter>(reader.Options());
  writer->Add("first");
  reader.WaitUntilStuck();
  for (size_t i = 0; i < LogWriter::kMaxLines + kMore; ++i) writer->Add(std::to_string(i));
  EXPECT_EQ(writer->dropped(), kMore);
  EXPECT_FALSE(writer->Flush(milliseconds(2)));
  reader.Read();
  ASSERT_TRUE(writer->Flush(seconds(60)));
  writer->Add("later");
  writer.reset();  // writes the rest
  const std::vector<std::string> lines = reader.lines();
  ASSERT_EQ(lines.size(), LogWriter::kMaxLines + 3);
  EXPECT_EQ(lines[LogWriter::kMaxLines], std::to_string(LogWriter::kMaxLines - 1));
  EXPECT_EQ(lines[LogWriter::kMaxLines + 1], "17 dropped") << "where they would have been";
  EXPECT_EQ(lines.back(), "later");
}

TEST(LogWriter, BytesAreBoundedToo) {
  Reader reader(false);
  LogWriter writer(reader.Options());
  writer.Add("first");
  reader.WaitUntilStuck();
  for (int i = 0; i < 5; ++i) writer.Add(std::string(LogWriter::kMaxBytes / 4, 'x'));
  EXPECT_EQ(writer.dropped(), 1u);
  reader.Read();
  ASSERT_TRUE(writer.Flush(seconds(60)));
  EXPECT_EQ(reader.lines().back(), "1 dropped");
}

}  // namespace
}  // namespace hotrow
