#include "proto/wire/process_tuning.h"

#include <malloc.h>

#include "absl/synchronization/mutex.h"

namespace hotrow::wire {

void TuneProcess() {
  constexpr int kHighestThresholdOfMalloc = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kHighestThresholdOfMalloc);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace hotrow::wire
