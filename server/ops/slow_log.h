// SlowLog: the calls that took long. Each is a line of the log, and the newest are kept to be asked
// for.
//
// A call is a pull, a push or one step of a scan: collecting its keys or reading a batch, without
// the time that the client takes.
//
// Thread safety: every method, from any thread. Bounds: kKept calls; as many lines as LogLimit
// allows one place, and a call that gets none costs no text. What is logged and kept never contains
// keys or row values.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/ops/log_limit.h"
#include "server/ops/method.h"

namespace hotrow {

// Time spent in a stage, by its name.
using NamedStage = std::pair<const char*, std::chrono::nanoseconds>;

struct SlowCall {
  std::chrono::system_clock::time_point answered{};
  Method method = Method::kPull;
  uint64_t request_id = 0;  // of the client; 0 for scans
  const char* code = "OK";
  uint64_t keys = 0;  // rows of a scan's batch
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
  std::string peer;      // as gRPC names it: ipv4:10.0.0.7:41314
  std::string trace_id;  // 32 hexadecimal digits, or empty
  std::chrono::nanoseconds duration{};
  std::vector<NamedStage> stages;
};

class SlowLog {
 public:
  static constexpr size_t kKept = 128;

  explicit SlowLog(std::chrono::milliseconds threshold) : threshold_(threshold) {}

  std::chrono::milliseconds threshold() const { return threshold_; }  // 0: nothing is slow
  bool IsSlow(std::chrono::nanoseconds duration) const {
    return threshold_.count() > 0 && duration >= threshold_;
  }
  void Add(SlowCall call);
  // The newest first, at most `limit`.
  std::vector<SlowCall> Newest(size_t limit) const;

 private:
  // Nothing when the call is to have no line.
  std::optional<AllowedLine> TakeLine();

  const std::chrono::milliseconds threshold_;
  mutable Mutex mutex_;
  LogLimit limit_ HOTROW_GUARDED_BY(mutex_);
  std::deque<SlowCall> calls_ HOTROW_GUARDED_BY(mutex_);  // the newest last
};

}  // namespace hotrow
