#include "server/runtime/file_util.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hotrow {
namespace {

absl::Status Failure(const std::string& path, const char* what) {
  return absl::UnavailableError(path + ": cannot be " + what + ": " + std::strerror(errno));
}

bool WriteAll(int file, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<size_t>(wrote);
  }
  return true;
}

// A rename is lasting only when the directory is synced too.
bool SyncParent(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int directory = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  const bool synced = fsync(directory) == 0;
  close(directory);
  return synced;
}

}  // namespace

absl::Status WriteFileAtomically(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return Failure(temporary, "created");
  const bool written = WriteAll(file, text) && fsync(file) == 0;
  const absl::Status failure = written ? absl::OkStatus() : Failure(temporary, "written");
  close(file);
  if (!written) {
    unlink(temporary.c_str());
    return failure;
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status renaming = Failure(path, "replaced");
    unlink(temporary.c_str());
    return renaming;
  }
  return SyncParent(path) ? absl::OkStatus() : Failure(path, "synced");
}

}  // namespace hotrow
