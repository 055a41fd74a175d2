#include "server/runtime/event_loops.h"

#include <grpc/support/time.h>
#include <pthread.h>

#include <utility>

namespace hotrow {
namespace {

constexpr std::chrono::seconds kBeatPeriod(1);

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class ShutdownTag final : public CompletionTag {
 public:
  explicit ShutdownTag(grpc::ServerCompletionQueue* queue) : queue_(queue) {}

 private:
  void OnComplete(bool) override { queue_->Shutdown(); }
  grpc::ServerCompletionQueue* const queue_;
};

}  // namespace

EventLoops::EventLoops(Queues queues) {
  for (auto& queue : queues) {
    auto loop = std::make_unique<Loop>();
    loop->queue = std::move(queue);
    loop->beat_ms.store(NowMs(), std::memory_order_relaxed);
    loop->stop_tag = std::make_unique<ShutdownTag>(loop->queue.get());
    loop->thread = std::thread([raw = loop.get()] { Run(*raw); });
    loops_.push_back(std::move(loop));
  }
}

EventLoops::~EventLoops() { Stop(); }

void EventLoops::Run(Loop& loop) {
  pthread_setname_np(pthread_self(), "hotrow-loop");
  for (;;) {
    void* tag = nullptr;
    bool ok = false;
    // The time limit only makes an idle loop show that it lives.
    const gpr_timespec limit = gpr_time_add(
        gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(kBeatPeriod.count(), GPR_TIMESPAN));
    const auto next = loop.queue->AsyncNext(&tag, &ok, limit);
    loop.beat_ms.store(NowMs(), std::memory_order_relaxed);
    if (next == grpc::CompletionQueue::SHUTDOWN) return;
    if (next == grpc::CompletionQueue::GOT_EVENT) static_cast<CompletionTag*>(tag)->Complete(ok);
  }
}

void EventLoops::Stop() {
  if (stopped_) return;
  stopped_ = true;
  for (auto& loop : loops_) {
    loop->stop_alarm.Set(loop->queue.get(), gpr_now(GPR_CLOCK_MONOTONIC),
                         loop->stop_tag->Arm(nullptr));
  }
  for (auto& loop : loops_) loop->thread.join();
}

bool EventLoops::AliveWithin(std::chrono::milliseconds age) const {
  const int64_t oldest = NowMs() - age.count();
  for (const auto& loop : loops_) {
    if (loop->beat_ms.load(std::memory_order_relaxed) < oldest) return false;
  }
  return true;
}

}  // namespace hotrow
