// Errors of pushes that nobody was told: their future was dropped, or its waiter had given up.
//
// Thread safety: every method, from any thread. Ownership: shared by a client and the results of
// its pushes, which may outlive it. Bounds: the first error is kept, of others their number.

#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/mutex.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

class UnclaimedErrors {
 public:
  void Add(const absl::Status& error) {
    MutexLock lock(mutex_);
    if (first_.ok()) {
      first_ = error;
    } else {
      ++others_;
    }
  }

  // The first error since the last call, which says how many others there were.
  absl::Status Take() {
    MutexLock lock(mutex_);
    absl::Status first = std::exchange(first_, absl::OkStatus());
    const int64_t others = std::exchange(others_, 0);
    if (others == 0) return first;
    wire::ErrorInfo error = wire::FromStatus(first);
    absl::StrAppend(&error.message, " (", others, " other pushes failed too, unnoticed)");
    return wire::ToStatus(error);
  }

 private:
  Mutex mutex_;
  absl::Status first_ HOTROW_GUARDED_BY(mutex_);
  int64_t others_ HOTROW_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotrow::client
