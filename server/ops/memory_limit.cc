#include "server/ops/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace hotrow {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kFallbackBytes = int64_t{1} << 30;  // when nothing can be read

// A file with one number; "max" and unreadable files are no limit.
int64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : kNoLimit;
}

int64_t PhysicalBytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string word;
  int64_t kib = 0;
  while (file >> word) {
    if (word == "MemTotal:" && file >> kib) return kib * 1024;
  }
  return kFallbackBytes;
}

// The tightest memory.max from the process's group up to the root of the hierarchy.
int64_t UnifiedGroupLimit(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  int64_t limit = kNoLimit;
  while (std::getline(file, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    for (std::string group = line.substr(3);; group.erase(group.rfind('/'))) {
      limit = std::min(limit, ReadLimit(root + "/sys/fs/cgroup" + group + "/memory.max"));
      if (group.find('/') == std::string::npos) break;
    }
  }
  return limit;
}

}  // namespace

int64_t UsableMemoryBytes(const std::string& root) {
  const int64_t version_1 = ReadLimit(root + "/sys/fs/cgroup/memory/memory.limit_in_bytes");
  return std::min({PhysicalBytes(root), UnifiedGroupLimit(root), version_1});
}

}  // namespace hotrow
