#include "server/ops/ready_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/runtime/file_util.h"

namespace hotrow {
namespace {

constexpr const char* kProcess = "pid";

// 0 when the file names none.
pid_t ProcessNamedIn(const std::string& path) {
  // The wait for somebody who writes into a pipe has no end.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return 0;
  // Read first: the parser lets exceptions of a stream through.
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const nlohmann::json facts =
      nlohmann::json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!facts.is_object()) return 0;
  const auto found = facts.find(kProcess);
  return found != facts.end() && found->is_number_integer() ? found->get<pid_t>() : 0;
}

// Numbers of processes are used again: only one that runs this program is meant.
bool IsAnotherThatLives(pid_t process) {
  if (process <= 0 || process == getpid()) return false;
  std::error_code error;
  const auto theirs = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), error);
  return !error && theirs == std::filesystem::read_symlink("/proc/self/exe", error);
}

}  // namespace

absl::Status PrepareReadyFile(const std::string& path) {
  std::error_code error;
  const auto there = std::filesystem::status(path, error);
  if (path.empty() || !std::filesystem::exists(there)) return absl::OkStatus();
  if (!std::filesystem::is_regular_file(there)) {
    return absl::UnavailableError(fmt::format("ready_file {}: is not a regular file", path));
  }
  if (const pid_t process = ProcessNamedIn(path); IsAnotherThatLives(process)) {
    return absl::UnavailableError(fmt::format(
        "ready_file {}: belongs to process {}, another server; give each a file of its own", path,
        process));
  }
  unlink(path.c_str());
  return absl::OkStatus();
}

absl::Status WriteReadyFile(const std::string& path, nlohmann::json facts) {
  if (path.empty()) return absl::OkStatus();
  facts[kProcess] = getpid();
  return WriteFileAtomically(path, facts.dump() + "\n");
}

void RemoveReadyFile(const std::string& path) {
  if (!path.empty() && ProcessNamedIn(path) == getpid()) unlink(path.c_str());
}

}  // namespace hotrow
