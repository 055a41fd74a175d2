#include "client/src/grpc_process.h"

#include <grpc/grpc.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

#include "client/src/client_error.h"
#include "proto/wire/process_tuning.h"

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
  wire::TuneProcess();
  return absl::OkStatus();
}

}  // namespace hotrow::client
