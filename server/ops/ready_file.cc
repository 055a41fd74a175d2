#include "server/ops/ready_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/ops/file_util.h"

namespace hotrow {
namespace {

constexpr const char* kProcess = "pid";

// 0 when the file names none.
pid_t ProcessNamedIn(const std::string& path) {
  // Read first: the parser lets exceptions of a stream through, and a folder opens but does not
  // read.
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

absl::Status WriteReadyFile(const std::string& path, nlohmann::json facts) {
  if (path.empty()) return absl::OkStatus();
  facts[kProcess] = getpid();
  return WriteFileAtomically(path, facts.dump() + "\n");
}

void RemoveReadyFile(const std::string& path) {
  if (path.empty() || IsAnotherThatLives(ProcessNamedIn(path))) return;
  unlink(path.c_str());
}

}  // namespace hotrow
