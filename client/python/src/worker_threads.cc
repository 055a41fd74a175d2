#include "client/python/src/worker_threads.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace hotrow::python {
namespace {

struct SharedTeam {
  std::mutex busy;  // held while the team works
  std::unique_ptr<ThreadTeam> team;
  pid_t owner = 0;  // the process that has the team's threads
};

// Leaked: see the header.
SharedTeam& Shared() {
  static auto* const shared = new SharedTeam;
  return *shared;
}

// The team with `threads` threads, made at the first call and when their number changes; null when
// there is none. A team of another process is left alone: its threads cannot be joined here.
ThreadTeam* TeamOf(SharedTeam& shared, int threads) {
  if (shared.team != nullptr && shared.owner != getpid()) return nullptr;
  if (shared.team != nullptr && shared.team->threads() == threads) return shared.team.get();
  shared.team.reset();
  auto team = ThreadTeam::Create(threads);
  if (!team.ok()) return nullptr;
  shared.team = *std::move(team);
  shared.owner = getpid();
  return shared.team.get();
}

}  // namespace

void WithThreads(int threads, const std::function<void(const HostSpace&)>& work) {
  if (threads < 2) return work(HostSpace());
  SharedTeam& shared = Shared();
  const std::unique_lock<std::mutex> lock(shared.busy, std::try_to_lock);
  ThreadTeam* team = nullptr;
  if (lock.owns_lock()) team = TeamOf(shared, std::min(threads, kMaxTeamThreads));
  work(HostSpace{team});
}

}  // namespace hotrow::python
