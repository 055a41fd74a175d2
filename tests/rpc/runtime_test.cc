#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "server/runtime/completion_tag.h"
#include "server/runtime/thread_pool.h"

namespace hotrow {
namespace {

TEST(ThreadPool, RunsAllThatItAcceptedBeforeItStops) {
  std::atomic<int> ran{0};
  int accepted = 0;
  {
    ThreadPool pool(3, 1000);
    for (int i = 0; i < 500; ++i) accepted += pool.TrySubmit([&] { ++ran; }) ? 1 : 0;
  }
  EXPECT_EQ(accepted, 500);
  EXPECT_EQ(ran.load(), accepted);
}

TEST(ThreadPool, RefusesWhatFindsItFull) {
  ThreadPool pool(1, 2);
  std::promise<void> started;
  std::promise<void> go;
  ASSERT_TRUE(pool.TrySubmit([&] {
    started.set_value();
    go.get_future().wait();
  }));
  started.get_future().wait();
  EXPECT_TRUE(pool.TrySubmit([] {}));
  EXPECT_TRUE(pool.TrySubmit([] {}));
  EXPECT_FALSE(pool.TrySubmit([] {}));
  go.set_value();
  pool.Stop();
  EXPECT_FALSE(pool.TrySubmit([] {}));
}

struct Call {
  explicit Call(bool* destroyed) : destroyed_(destroyed) {}
  ~Call() { *destroyed_ = true; }
  void OnEvent(bool ok) { last_ok = ok; }

  bool last_ok = false;
  MemberTag<Call> tag{this, &Call::OnEvent};
  bool* const destroyed_;
};

TEST(CompletionTag, KeepsItsOwnerUntilItsEventIsHandled) {
  bool destroyed = false;
  auto call = std::make_shared<Call>(&destroyed);
  auto* tag = static_cast<CompletionTag*>(call->tag.Arm(call));
  call.reset();
  EXPECT_FALSE(destroyed);
  tag->Complete(true);
  EXPECT_TRUE(destroyed);
}

TEST(CompletionTag, AnEventThatNeverComesIsTakenBack) {
  bool destroyed = false;
  auto call = std::make_shared<Call>(&destroyed);
  call->tag.Arm(call);
  call->tag.Disarm();
  call.reset();
  EXPECT_TRUE(destroyed);
}

}  // namespace
}  // namespace hotrow
