// Waits that end at their deadline or when the InterruptScope of this thread says so.
//
// Thread safety: as for CondVar. Errors: none; both ends look the same to the caller, who then
// reports that the time was not enough.

#pragma once

#include "client/src/time_point.h"
#include "kernels/base/mutex.h"

namespace hotrow::client {

// False when the deadline passed or the scope was interrupted. Wake-ups may be spurious; the lock
// is given up while the scope is asked.
bool WaitUntil(CondVar& changed, Mutex& mutex, TimePoint deadline) HOTROW_REQUIRES(mutex);

// False when the scope was interrupted meanwhile.
bool SleepFor(milliseconds time);

// The next moment at which a wait with a deadline should call Interrupted().
TimePoint NextLook(TimePoint deadline);
// Asks the scope of this thread; false without one. Call without locks.
bool Interrupted();

}  // namespace hotrow::client
