#include "server/ops/log_writer.h"

#include <poll.h>

#include <utility>

namespace hotrow {

LogWriter::LogWriter(Options options) : options_(std::move(options)), thread_([this] { Run(); }) {}

LogWriter::~LogWriter() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void LogWriter::Add(std::string line) {
  {
    MutexLock lock(mutex_);
    if (lines_.size() >= kMaxLines || line.size() > kMaxBytes - bytes_) {
      // The line that will tell of it is one more to be written.
      if (dropped_++ == 0) added_.fetch_add(1, std::memory_order_release);
      dropped_total_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    bytes_ += line.size();
    lines_.push_back(std::move(line));
    added_.fetch_add(1, std::memory_order_release);
  }
  changed_.NotifyAll();
}

bool LogWriter::Flush(std::chrono::milliseconds timeout) const {
  const uint64_t wanted = added_.load(std::memory_order_acquire);
  for (auto waited = timeout.zero();; ++waited) {
    if (written_.load(std::memory_order_acquire) >= wanted) return true;
    if (waited >= timeout) return false;
    poll(nullptr, 0, 1);  // of no descriptor: what a signal handler may wait with
  }
}

bool LogWriter::Take(std::vector<std::string>& lines, uint64_t& dropped) {
  MutexLock lock(mutex_);
  while (lines_.empty() && dropped_ == 0 && !ending_) changed_.Wait(mutex_);
  lines.swap(lines_);
  bytes_ = 0;
  dropped = std::exchange(dropped_, 0);
  return !lines.empty() || dropped > 0;
}

void LogWriter::Run() {
  std::vector<std::string> lines;
  uint64_t dropped = 0;
  while (Take(lines, dropped)) {
    for (const std::string& line : lines) {
      options_.write(line);
      written_.fetch_add(1, std::memory_order_release);
    }
    lines.clear();
    // Those came after the lines that filled the queue.
    if (dropped == 0) continue;
    options_.write(options_.dropped_lines(dropped));
    written_.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace hotrow
