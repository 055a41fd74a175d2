#include "client/src/grpc_process.h"

#include <grpc/grpc.h>
#include <malloc.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

#include "absl/synchronization/mutex.h"
#include "client/src/client_error.h"

namespace hotrow::client {
namespace {

// 0 until gRPC is used. Relaxed: a child sees what its parent had stored before the fork.
std::atomic<pid_t> grpc_process{0};

}  // namespace

absl::Status EnterGrpc() {
  pid_t first = 0;
  const pid_t own = getpid();
  if (!grpc_process.compare_exchange_strong(first, own, std::memory_order_relaxed)) {
    return first == own ? absl::OkStatus() : ForkedError();
  }
  // Never given back: the end of the last user would wait up to 10 s for a poller of gRPC's own.
  grpc_init();
  // The default takes every large buffer of a reply from the system and gives it back, a page fault
  // per 4 KiB: a quarter of the time of a client that pulls a megabyte at a time.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // Debian's Abseil looks for deadlocks at every lock, which gRPC takes several of a message.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return absl::OkStatus();
}

}  // namespace hotrow::client
