#include "kernels/space/thread_team.h"

#include <system_error>

namespace hotrow {

ResultOr<std::unique_ptr<ThreadTeam>> ThreadTeam::Create(int threads) {
  if (threads < 1 || threads > kMaxTeamThreads) {
    return Result(Code::kInvalidArgument, "a team has 1 to 256 threads");
  }
  std::unique_ptr<ThreadTeam> team(new ThreadTeam(threads));
  try {
    for (int part = 1; part < threads; ++part) {
      team->workers_.emplace_back([raw = team.get(), part] { raw->Work(part); });
    }
  } catch (const std::system_error&) {
    return Result(Code::kUnavailable, "the system has no thread left for a team");
  }
  return team;
}

ThreadTeam::~ThreadTeam() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::RunParts(const Call& call) {
  {
    const MutexLock lock(mutex_);
    HOTROW_CHECK(working_ == 0);
    call_ = call;
    working_ = threads_ - 1;
    ++calls_;
    changed_.NotifyAll();
  }
  call.invoke(call.function, 0);
  const MutexLock lock(mutex_);
  while (working_ > 0) changed_.Wait(mutex_);
}

void ThreadTeam::Work(int part) {
  for (uint64_t done = 0;; ++done) {
    Call call;
    {
      const MutexLock lock(mutex_);
      while (calls_ == done && !ending_) changed_.Wait(mutex_);
      if (calls_ == done) return;
      call = call_;
    }
    call.invoke(call.function, part);
    const MutexLock lock(mutex_);
    if (--working_ == 0) changed_.NotifyAll();
  }
}

}  // namespace hotrow
