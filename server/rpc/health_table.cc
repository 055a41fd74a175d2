#include "server/rpc/health_table.h"

namespace hotrow {

void HealthTable::Set(const std::string& service, Health health) {
  std::vector<std::shared_ptr<ServerCall>> alive;
  {
    MutexLock lock(mutex_);
    Health& known = services_[service];
    if (known == health) return;
    known = health;
    std::erase_if(watchers_, [&](const std::weak_ptr<ServerCall>& watcher) {
      auto call = watcher.lock();
      if (call == nullptr) return true;
      alive.push_back(std::move(call));
      return false;
    });
  }
  for (const auto& call : alive) call->WakeUp();
}

Health HealthTable::Of(const std::string& service) const {
  MutexLock lock(mutex_);
  const auto found = services_.find(service);
  return found == services_.end() ? Health::kUnknownService : found->second;
}

void HealthTable::Watch(const std::shared_ptr<ServerCall>& watcher) {
  MutexLock lock(mutex_);
  std::erase_if(watchers_, [](const std::weak_ptr<ServerCall>& call) { return call.expired(); });
  watchers_.push_back(watcher);
}

}  // namespace hotrow
