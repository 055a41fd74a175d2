// The threads that pooling of this process shares, beside the one that calls.
//
// One team for all modules: a training process pools one batch at a time. Whoever comes while it is
// taken works alone, as does a forked child, where the team's threads are not. The bits are those
// of one thread.
//
// Thread safety: from any thread. Bounds: at most kMaxTeamThreads threads; they sleep between calls
// and are never ended, since a process may end while one of them works.

#pragma once

#include <functional>

#include "kernels/space/host_space.h"

namespace hotrow::python {

// Calls work(space) once, with a space of up to `threads` threads; of one below 2, or when the
// system has no more threads.
void WithThreads(int threads, const std::function<void(const HostSpace&)>& work);

}  // namespace hotrow::python
