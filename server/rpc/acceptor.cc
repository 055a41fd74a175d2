#include "server/rpc/acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace hotrow {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// An idle acceptor shows that it lives.
constexpr int kBeatPeriodMs = 1000;
constexpr int kPauseMs = 100;
constexpr milliseconds kLookPeriod(1000);
constexpr milliseconds kLookPeriodWhenFull(100);
// Of one socket, before the others have their turn.
constexpr int kMaxAtOnce = 64;

int64_t NowMs() {
  return std::chrono::duration_cast<milliseconds>(Clock::now().time_since_epoch()).count();
}

// Of the socket behind a descriptor; none when there is nothing behind it. By statx, which allows
// that the descriptor is closed by its owner at the same moment.
std::optional<ino_t> InodeOf(int descriptor) {
  struct statx found{};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_TYPE, &found) == 0) {
    if (!S_ISSOCK(found.stx_mode)) return {};
    return static_cast<ino_t>(found.stx_ino);
  }
  struct stat plain{};  // older sandboxes refuse statx
  if (errno == EBADF || fstat(descriptor, &plain) != 0 || !S_ISSOCK(plain.st_mode)) return {};
  return plain.st_ino;
}

// Of the connection that was to be accepted, not of the server.
bool ConcernsOneConnection(int error) {
  return error == ECONNABORTED || error == EPROTO || error == EPERM || error == EINTR;
}

}  // namespace

Acceptor::Acceptor(Options options)
    : options_(std::move(options)), stop_event_(eventfd(0, EFD_CLOEXEC)), beat_ms_(NowMs()) {
  thread_ = std::thread([this] { Run(); });
}

Acceptor::~Acceptor() {
  Stop();
  if (stop_event_ >= 0) close(stop_event_);
}

void Acceptor::Stop() {
  if (stopped_) return;
  stopped_ = true;
  stopping_.store(true, std::memory_order_relaxed);  // the join orders the rest
  eventfd_write(stop_event_, 1);
  thread_.join();
  options_.sockets.clear();
}

void Acceptor::Run() {
  pthread_setname_np(pthread_self(), "hotrow-accept");
  std::vector<pollfd> waiting = {{.fd = stop_event_, .events = POLLIN, .revents = 0}};
  for (const ListenSocket& socket : options_.sockets) {
    waiting.push_back({.fd = socket.descriptor(), .events = POLLIN, .revents = 0});
  }
  bool pausing = false;
  for (;;) {
    // After an error the sockets stay readable: only the end is waited for then.
    poll(waiting.data(), pausing ? 1 : waiting.size(), pausing ? kPauseMs : kBeatPeriodMs);
    beat_ms_.store(NowMs(), std::memory_order_relaxed);
    if (stopping_.load(std::memory_order_relaxed)) return;
    LookAfter(kLookPeriod);
    bool good = true;
    for (size_t i = 1; i < waiting.size(); ++i) {
      if (pausing || waiting[i].revents != 0) good = AcceptAll(waiting[i].fd) && good;
    }
    pausing = !good;
    if (good) Recovered();
  }
}

bool Acceptor::AcceptAll(int listening) {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    const int descriptor = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EAGAIN) return true;
      if (ConcernsOneConnection(errno)) continue;
      Failed(errno);
      return false;
    }
    if (Admit(descriptor)) {
      options_.take(descriptor);
    } else {
      close(descriptor);
    }
  }
  return true;
}

bool Acceptor::Admit(int descriptor) {
  open_.erase(descriptor);  // it was free
  const auto full = [this] {
    return static_cast<int64_t>(open_.size()) >= options_.max_connections;
  };
  if (full()) LookAfter(kLookPeriodWhenFull);
  if (full()) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    SPDLOG_WARN("a connection was refused: {} are open, which is the limit ({})",
                options_.max_connections, options_.bound);
    return false;
  }
  if (const auto inode = InodeOf(descriptor)) open_.emplace(descriptor, *inode);
  open_count_.store(static_cast<int64_t>(open_.size()), std::memory_order_relaxed);
  accepted_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Acceptor::LookAfter(milliseconds age) {
  if (Clock::now() < last_look_ + age) return;
  std::erase_if(open_, [](const auto& one) { return InodeOf(one.first) != one.second; });
  open_count_.store(static_cast<int64_t>(open_.size()), std::memory_order_relaxed);
  last_look_ = Clock::now();
}

void Acceptor::Failed(int error) {
  int64_t before = 0;
  failing_since_ms_.compare_exchange_strong(before, NowMs(), std::memory_order_relaxed);
  if (before != 0) return;
  const bool descriptors = error == EMFILE || error == ENFILE;
  SPDLOG_WARN("connections cannot be accepted now: {}; clients wait until there is room again{}",
              std::strerror(error),
              descriptors ? " (raise the limit of open files, ulimit -n, or lower "
                            "rpc.max_connections)"
                          : "");
}

void Acceptor::Recovered() {
  const int64_t since = failing_since_ms_.exchange(0, std::memory_order_relaxed);
  if (since != 0) SPDLOG_INFO("connections are accepted again, after {} ms", NowMs() - since);
}

ConnectionCounts Acceptor::counts() const {
  return {.open = open_count_.load(std::memory_order_relaxed),
          .limit = options_.max_connections,
          .accepted = accepted_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed)};
}

milliseconds Acceptor::failing_for() const {
  const int64_t since = failing_since_ms_.load(std::memory_order_relaxed);
  return milliseconds(since == 0 ? 0 : NowMs() - since);
}

bool Acceptor::AliveWithin(milliseconds age) const {
  return beat_ms_.load(std::memory_order_relaxed) >= NowMs() - age.count();
}

}  // namespace hotrow
