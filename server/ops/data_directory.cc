#include "server/ops/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "server/runtime/file_util.h"

namespace hotrow {
namespace {

constexpr int kFormat = 1;

absl::Status Failure(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError("data_dir: " + path + ": " + what);
}

// The process that wrote its number into the lock file, for the message only.
std::string Holder(const std::string& lock_path) {
  std::ifstream file(lock_path);
  std::string pid;
  return file >> pid ? "process " + pid : "another process";
}

absl::StatusOr<int> TakeLock(const std::string& path) {
  const std::string lock_path = path + "/LOCK";
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return Failure(lock_path, std::strerror(errno));
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    close(lock);
    return Failure(path, "is in use by " + Holder(lock_path) + "; this is process " +
                             std::to_string(getpid()));
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  const bool written = ftruncate(lock, 0) == 0 &&
                       pwrite(lock, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  if (written) return lock;
  const absl::Status failure = Failure(lock_path, std::strerror(errno));
  close(lock);
  return failure;
}

std::string ToJson(const ShardIdentity& identity) {
  return nlohmann::json({{"format", kFormat},
                         {"cluster_id", identity.cluster_id},
                         {"shard", identity.shard},
                         {"shards", identity.shards},
                         {"partitions", identity.partitions}})
             .dump(2) +
         "\n";
}

// Compares the stored identity with the wished one, field by field.
absl::Status Check(const std::string& path, const ShardIdentity& wished) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const auto stored = nlohmann::json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!stored.is_object()) return Failure(path, "is damaged");
  const auto expected = nlohmann::json::parse(ToJson(wished));
  for (const auto& [name, value] : expected.items()) {
    if (stored.contains(name) && stored[name] == value) continue;
    const std::string found = stored.contains(name) ? stored[name].dump() : "no value";
    return Failure(path, "belongs to " + name + " " + found + ", this server has " + name + " " +
                             value.dump());
  }
  return absl::OkStatus();
}

}  // namespace

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : lock_(std::exchange(other.lock_, -1)) {}

DataDirectory& DataDirectory::operator=(DataDirectory&& other) noexcept {
  std::swap(lock_, other.lock_);
  return *this;
}

DataDirectory::~DataDirectory() {
  if (lock_ >= 0) close(lock_);
}

absl::StatusOr<DataDirectory> DataDirectory::Open(const std::string& path,
                                                  const ShardIdentity& identity) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Failure(path, "cannot be created: " + error.message());
  const absl::StatusOr<int> lock = TakeLock(path);
  if (!lock.ok()) return lock.status();
  DataDirectory directory(*lock);
  const std::string identity_path = path + "/IDENTITY";
  absl::Status status = std::filesystem::exists(identity_path, error)
                            ? Check(identity_path, identity)
                            : WriteFileAtomically(identity_path, ToJson(identity));
  if (!status.ok()) return status;
  return directory;
}

}  // namespace hotrow
