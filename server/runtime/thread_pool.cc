#include "server/runtime/thread_pool.h"

#include <pthread.h>

#include <utility>

namespace hotrow {

ThreadPool::ThreadPool(int threads, size_t max_waiting) : max_waiting_(max_waiting) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

ThreadPool::~ThreadPool() { Stop(); }

bool ThreadPool::TrySubmit(Task task) {
  {
    MutexLock lock(mutex_);
    if (stopped_ || waiting_.size() >= max_waiting_) return false;
    waiting_.push_back(std::move(task));
  }
  changed_.NotifyOne();
  return true;
}

void ThreadPool::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadPool::Run() {
  pthread_setname_np(pthread_self(), "hotrow-pool");
  for (;;) {
    Task task;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopped_) changed_.Wait(mutex_);
      if (waiting_.empty()) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

}  // namespace hotrow
