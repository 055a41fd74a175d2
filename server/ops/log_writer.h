// LogWriter: writes finished lines on a thread of its own, so that whoever logs never waits for
// whoever reads: a pipe that nobody empties must not hold up a strand or an event loop.
//
// Thread safety: every method, from any thread. Ownership: `write` is called on the writer's thread
// only, under no lock. Bounds: kMaxLines lines of kMaxBytes together wait, beside as many that are
// being written; a line that finds no room is dropped, and how many were is told when those that
// waited are written. Errors: none.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/mutex.h"

namespace hotrow {

class LogWriter {
 public:
  static constexpr size_t kMaxLines = 4096;
  static constexpr size_t kMaxBytes = 1 << 20;

  struct Options {
    std::function<void(const std::string&)> write;       // a line, with its end; may block
    std::function<std::string(uint64_t)> dropped_lines;  // the line that tells of so many
  };
  explicit LogWriter(Options options);
  // Writes what waits, however long `write` takes.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Never waits for `write`.
  void Add(std::string line);
  // Returns when what was added before is written, or after `timeout`: false. Takes no lock and
  // allocates nothing: a signal handler may call it.
  bool Flush(std::chrono::milliseconds timeout) const;
  uint64_t dropped() const { return dropped_total_.load(std::memory_order_relaxed); }

 private:
  void Run();
  // Waits for lines: false at the end.
  bool Take(std::vector<std::string>& lines, uint64_t& dropped);

  const Options options_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> lines_ HOTROW_GUARDED_BY(mutex_);
  size_t bytes_ HOTROW_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_ HOTROW_GUARDED_BY(mutex_) = 0;  // since the last line that told of it
  bool ending_ HOTROW_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> added_{0};          // lines to be written, ever
  std::atomic<uint64_t> written_{0};        // of them written; release: after `write` returned
  std::atomic<uint64_t> dropped_total_{0};  // relaxed: a count, orders nothing
  std::thread thread_;                      // last: uses the others
};

}  // namespace hotrow
