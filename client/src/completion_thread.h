// The thread that takes one shard's events off its gRPC completion queue.
//
// Thread safety: queue() may be used from any thread until Stop(). Ownership: a tag must live until
// its Done ran. Stop(), and the end of the thread, return after the tag of every started operation
// has run; nothing may be started once they were called.

#pragma once

#include <grpcpp/completion_queue.h>

#include <thread>

#include "kernels/base/tsan.h"

namespace hotrow::client {

// What a completion queue gives back when an operation is over.
class CompletionTag {
 public:
  virtual ~CompletionTag() = default;
  virtual void Done(bool ok) = 0;

  // Call on a tag just before its operation starts. gRPC hands the tag from thread to thread with
  // synchronisation that ThreadSanitizer cannot see.
  void* Starting() {
    HOTROW_TSAN_RELEASE(this);
    return this;
  }
  void Arrived() { HOTROW_TSAN_ACQUIRE(this); }
};

class CompletionThread {
 public:
  CompletionThread() : thread_([this] { Run(); }) {}
  ~CompletionThread() { Stop(); }

  grpc::CompletionQueue& queue() { return queue_; }

  void Stop() {
    if (!thread_.joinable()) return;
    queue_.Shutdown();
    thread_.join();
  }

 private:
  void Run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      CompletionTag* const done = static_cast<CompletionTag*>(tag);
      done->Arrived();
      done->Done(ok);
    }
  }

  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace hotrow::client
