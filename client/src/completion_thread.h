// The thread that takes one shard's events off its gRPC completion queue.
//
// Thread safety: queue() may be used from any thread until Stop(). Ownership: a tag must live until
// its Done ran. Stop() only after every started operation's tag has run.

#pragma once

#include <grpcpp/completion_queue.h>

#include <thread>

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace hotrow::client {

// What a completion queue gives back when an operation is over.
class CompletionTag {
 public:
  virtual ~CompletionTag() = default;
  virtual void Done(bool ok) = 0;

  // Call on a tag just before its operation starts. gRPC hands the tag from thread to thread with
  // synchronisation that ThreadSanitizer cannot see.
  void* Starting() {
#if defined(__SANITIZE_THREAD__)
    __tsan_release(this);
#endif
    return this;
  }
  void Arrived() {
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(this);
#endif
  }
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
