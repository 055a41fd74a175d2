#include "server/rpc/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace hotrow {
namespace {

constexpr int64_t kOtherDescriptors = 192;
constexpr int64_t kMostConnections = 16'384;

int64_t Value(rlim_t limit) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  return limit > static_cast<rlim_t>(kMost) ? kMost : static_cast<int64_t>(limit);
}

}  // namespace

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return DescriptorLimit();
}

int64_t ConnectionsUnder(int64_t descriptors) {
  const int64_t most = std::max(descriptors - kOtherDescriptors, descriptors / 2);
  return std::clamp<int64_t>(most, 1, kMostConnections);
}

int64_t DescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return Value(limit.rlim_cur);
}

}  // namespace hotrow
