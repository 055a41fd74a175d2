// Errors of pushes that nobody has been told: of a future that was dropped, or that is held while
// its owner asks flush() how the pushes went.
//
// Thread safety: every method, from any thread. Ownership: shared by a client and the results of
// its pushes, which may outlive it. Bounds: kKept errors are kept, of others the last and their
// number.

#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/mutex.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {

class UnclaimedErrors {
 public:
  using Id = uint64_t;
  static constexpr size_t kKept = 64;

  Id Add(const absl::Status& error) {
    MutexLock lock(mutex_);
    const Id id = ++last_id_;
    if (kept_.size() < kKept) {
      kept_.emplace(id, error);
    } else {
      last_other_ = error;
      ++others_;
    }
    return id;
  }

  // Somebody waited for that push and was told. Once for an id.
  void Claim(Id id) {
    MutexLock lock(mutex_);
    if (kept_.erase(id) == 0 && id > taken_) --others_;
  }

  // The first error since the last call, which says how many others there were.
  absl::Status Take() {
    MutexLock lock(mutex_);
    taken_ = last_id_;
    const int64_t others = static_cast<int64_t>(kept_.size()) + std::exchange(others_, 0) - 1;
    if (others < 0) return absl::OkStatus();
    const absl::Status first = kept_.empty() ? last_other_ : kept_.begin()->second;
    kept_.clear();
    if (others == 0) return first;
    wire::ErrorInfo error = wire::FromStatus(first);
    absl::StrAppend(&error.message, " (", others, " other pushes failed too)");
    return wire::ToStatus(error);
  }

 private:
  Mutex mutex_;
  Id last_id_ HOTROW_GUARDED_BY(mutex_) = 0;
  Id taken_ HOTROW_GUARDED_BY(mutex_) = 0;  // ids up to it were given by Take
  std::map<Id, absl::Status> kept_ HOTROW_GUARDED_BY(mutex_);
  absl::Status last_other_ HOTROW_GUARDED_BY(mutex_);
  int64_t others_ HOTROW_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotrow::client
