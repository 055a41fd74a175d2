// EventLoops: one thread for each completion queue, which hands events to their tags.
//
// Thread safety: every method, from any thread that is not a loop itself. Ownership: owns the
// queues. Rule for tags: an operation on a queue is started on that queue's loop, or at a time when
// Stop() cannot have begun; a queue that is shut down ends the process when it is given work.

#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "server/runtime/completion_tag.h"

namespace hotrow {

class EventLoops {
 public:
  using Queues = std::vector<std::unique_ptr<grpc::ServerCompletionQueue>>;

  explicit EventLoops(Queues queues);
  ~EventLoops();  // stops
  EventLoops(const EventLoops&) = delete;
  EventLoops& operator=(const EventLoops&) = delete;

  // Shuts every queue down on its own loop and returns when all events have been handled. The
  // server that feeds the queues must have been shut down before. Idempotent.
  void Stop();

  size_t size() const { return loops_.size(); }
  grpc::ServerCompletionQueue* queue(size_t index) const { return loops_[index]->queue.get(); }
  // Whether every loop has been seen at work or waiting within `age`.
  bool AliveWithin(std::chrono::milliseconds age) const;

 private:
  struct Loop {
    std::unique_ptr<grpc::ServerCompletionQueue> queue;
    std::atomic<int64_t> beat_ms{0};  // relaxed: a time stamp, orders nothing
    std::unique_ptr<CompletionTag> stop_tag;
    grpc::Alarm stop_alarm;
    std::thread thread;
  };
  static void Run(Loop& loop);

  std::vector<std::unique_ptr<Loop>> loops_;  // constant after construction
  bool stopped_ = false;                      // owner's thread only
};

}  // namespace hotrow
