// HealthTable: which services are said to be serving, for grpc.health.v1.
//
// Thread safety: every method, from any thread. Ownership: only watches its watchers. Bounds: one
// entry a service that was set, and one a watching call.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/rpc/server_call.h"

namespace hotrow {

enum class Health : uint8_t { kUnknownService, kServing, kNotServing };

class HealthTable {
 public:
  // Wakes every watcher up.
  void Set(const std::string& service, Health health);
  Health Of(const std::string& service) const;
  // `watcher` is woken up at every change until it is gone.
  void Watch(const std::shared_ptr<ServerCall>& watcher);

 private:
  mutable Mutex mutex_;
  std::map<std::string, Health> services_ HOTROW_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<ServerCall>> watchers_ HOTROW_GUARDED_BY(mutex_);
};

}  // namespace hotrow
