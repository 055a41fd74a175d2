// The real program: what it prints, the addresses that it picks, how it ends.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/rpc/temporary_directory.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

using std::chrono::steady_clock;

// False when nothing comes in time.
bool WaitReadable(int descriptor) {
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  const auto limit_ms = std::chrono::duration_cast<std::chrono::milliseconds>(kTestTimeout).count();
  return poll(&waiting, 1, static_cast<int>(limit_ms)) == 1;
}

constexpr int kToFile = -1;
constexpr int kClosed = -2;

// hotrow-server with its stderr in a file of the directory, in another descriptor, or closed.
class Process {
 public:
  Process(const TemporaryDirectory& directory, std::vector<std::string> arguments,
          int log_descriptor = kToFile) {
    const std::string log = directory.File("stderr");
    arguments.insert(arguments.begin(), HOTROW_SERVER_BINARY);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = vfork();
    if (pid_ == 0) {
      const int file = log_descriptor >= 0 ? log_descriptor
                                           : open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
      dup2(file, STDERR_FILENO);
      if (log_descriptor == kClosed) close(STDERR_FILENO);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
  }
  ~Process() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int number) const { kill(pid_, number); }
  // The exit code, -1 when it did not end in time or by itself.
  int Wait() {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    const bool ended = WaitReadable(descriptor);
    close(descriptor);
    if (!ended) return -1;
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

// The ready file of this process, once it is there.
nlohmann::json WaitReady(const TemporaryDirectory& directory, const Process& process) {
  const int changes = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(changes, directory.path().c_str(), IN_MOVED_TO);
  nlohmann::json ready;
  do {
    ready = nlohmann::json::parse(directory.Read("ready.json"), nullptr, false);
    char event[4096];
    if (ready.is_object() && ready.value("pid", 0) == process.pid()) break;
    if (!WaitReadable(changes) || read(changes, event, sizeof(event)) <= 0) {
      ADD_FAILURE() << "not ready: " << directory.Read("stderr");
      break;
    }
  } while (true);
  close(changes);
  return ready;
}

std::vector<std::string> Serving(const TemporaryDirectory& directory) {
  return {"--listen",           "127.0.0.1:0", "--ready-file", directory.File("ready.json"),
          "--tiers-hot-budget", "64MiB"};
}

size_t Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Program, TellsItsAddressesOnceItServes) {
  TemporaryDirectory directory;
  std::vector<std::string> arguments = Serving(directory);
  arguments.insert(arguments.end(), {"--metrics", "127.0.0.1:0", "--unix", directory.File("s")});
  directory.Write("ready.json", "{\"pid\": 1}");  // of an earlier life
  Process process(directory, arguments);
  const nlohmann::json ready = WaitReady(directory, process);
  EXPECT_EQ(ready["shard"], 0);
  EXPECT_EQ(ready["unix"], directory.File("s"));
  EXPECT_NE(ready["version"], "");
  for (const char* name : {"listen", "metrics"}) {
    const std::string address = ready[name];
    EXPECT_EQ(address.rfind("127.0.0.1:", 0), 0u);
    EXPECT_NE(address, "127.0.0.1:0");
  }
  TestClient client(ready["listen"]);
  client.CreateTable("t", 4);
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(), 0);
}

TEST(Program, ASigtermWithOpenStreamsEndsCleanlyAndSoon) {
  TemporaryDirectory directory;
  Process process(directory, Serving(directory));
  TestClient client(WaitReady(directory, process)["listen"].get<std::string>());
  const uint32_t table = client.CreateTable("t", 64);
  constexpr int kStreams = 4;
  std::vector<std::thread> streams;
  std::atomic<int> running{0};
  std::array<grpc::Status, kStreams> endings;
  std::array<uint64_t, kStreams> unanswered{};
  for (int i = 0; i < kStreams; ++i) {
    streams.emplace_back([&, i] {
      grpc::ClientContext context;
      SetDeadline(context);
      auto stream = client.parameters().Pull(&context);
      v1::PullResponse response;
      uint64_t id = 0;
      while (stream->Write(PullOf(++id, table, std::vector<uint64_t>(100, id)))) {
        if (!stream->Read(&response)) {
          ++unanswered[i];
          break;
        }
        if (id == 5) ++running;
      }
      endings[i] = stream->Finish();
    });
  }
  while (running.load() < kStreams) std::this_thread::yield();
  const auto start = steady_clock::now();
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(8));
  for (std::thread& stream : streams) stream.join();
  for (const grpc::Status& ending : endings) {
    EXPECT_EQ(ending.error_code(), grpc::StatusCode::UNAVAILABLE) << ending.error_message();
  }
}

TEST(Program, LogsAreOneJsonObjectPerLine) {
  TemporaryDirectory directory;
  std::vector<std::string> arguments = Serving(directory);
  arguments.insert(arguments.end(), {"--data-dir", directory.File("a\"b")});
  Process process(directory, arguments);
  TestClient client(WaitReady(directory, process)["listen"].get<std::string>());
  // What a library says goes the same way.
  grpc::ClientContext context;
  SetDeadline(context);
  v1::DescribeTableRequest request;
  request.set_name("\xff");  // no UTF-8
  v1::DescribeTableResponse response;
  EXPECT_FALSE(client.admin().DescribeTable(&context, request, &response).ok());
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  std::stringstream log(directory.Read("stderr"));
  std::string line;
  int lines = 0;
  for (; std::getline(log, line); ++lines) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(entry.is_object()) << line;
    EXPECT_EQ(entry["shard"], 0);
    EXPECT_EQ(entry["ts"].get<std::string>().size(), strlen("2026-01-01T00:00:00.000Z"));
  }
  EXPECT_GE(lines, 3);
  EXPECT_NE(log.str().find("in memory only"), std::string::npos);
  EXPECT_NE(log.str().find("protobuf: "), std::string::npos);
}

TEST(Program, AFloodOfLinesIsBoundedAndAccountedFor) {
  constexpr int kSessions = 60;
  TemporaryDirectory directory;
  Process process(directory, Serving(directory));
  TestClient client(WaitReady(directory, process)["listen"].get<std::string>());
  for (int i = 0; i < kSessions; ++i) client.OpenSession(fmt::format("{:016}", i));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  std::stringstream log(directory.Read("stderr"));
  std::string line;
  int written = 0;
  int left_out = 0;
  while (std::getline(log, line)) {
    const auto entry = nlohmann::json::parse(line);
    if (entry["msg"].get<std::string>().rfind("session ", 0) != 0) continue;
    ++written;
    left_out += entry.value("left_out", 0);
  }
  EXPECT_LT(written, kSessions / 2);
  EXPECT_EQ(written + left_out, kSessions);
}

TEST(Program, ALogThatNobodyReadsHoldsNoCallUp) {
  constexpr int kCalls = 100;  // each a line of more than 100 bytes
  TemporaryDirectory directory;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
  Process process(directory, Serving(directory), ends[1]);
  close(ends[1]);
  TestClient client(WaitReady(directory, process)["listen"].get<std::string>());
  for (int i = 0; i < kCalls; ++i) client.CreateTable(fmt::format("t{}", i), 1);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << "nor the end";
  std::string said(1 << 16, '\0');
  said.resize(std::max<ssize_t>(0, read(ends[0], said.data(), said.size())));
  close(ends[0]);
  EXPECT_NE(said.find("serves shard 0"), std::string::npos) << said;
}

TEST(Program, WhatWasLoggedBeforeAnAbortIsWritten) {
  TemporaryDirectory directory;
  Process process(directory, Serving(directory));
  TestClient client(WaitReady(directory, process)["listen"].get<std::string>());
  for (int i = 0; i < 200; ++i) client.CreateTable(fmt::format("t{}", i), 1);
  process.Signal(SIGABRT);
  siginfo_t end{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process.pid()), &end, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(end.si_code == CLD_KILLED || end.si_code == CLD_DUMPED);
  EXPECT_EQ(end.si_status, SIGABRT);
  EXPECT_NE(directory.Read("stderr").find("'t199'"), std::string::npos);
}

TEST(Program, ASecondStartLeavesTheReadyFileOfTheFirst) {
  TemporaryDirectory directory;
  std::vector<std::string> arguments = Serving(directory);
  arguments.insert(arguments.end(), {"--metrics", "127.0.0.1:0"});
  Process first(directory, arguments);
  const nlohmann::json ready = WaitReady(directory, first);
  std::vector<std::string> same = Serving(directory);
  same[1] = ready["listen"];
  Process second(directory, same);
  EXPECT_EQ(second.Wait(), 1);
  // One that has addresses of its own.
  Process other(directory, Serving(directory));
  EXPECT_EQ(other.Wait(), 1);
  EXPECT_NE(directory.Read("stderr").find("another server"), std::string::npos);
  // One that gets as far as its pages, where the first has them.
  std::vector<std::string> pages = Serving(directory);
  pages.insert(pages.end(), {"--metrics", ready["metrics"]});
  Process third(directory, pages);
  EXPECT_EQ(third.Wait(), 1);
  EXPECT_EQ(nlohmann::json::parse(directory.Read("ready.json"), nullptr, false), ready);
}

TEST(Program, BadConfigurationExitsWithTwoAndOneLine) {
  TemporaryDirectory directory;
  Process process(directory, {"--listen", "0.0.0.0:0"});
  EXPECT_EQ(process.Wait(), 2);
  EXPECT_EQ(Lines(directory.Read("stderr")), 1u) << directory.Read("stderr");
}

TEST(Program, ASecondProcessOnADirectoryExitsWithTwo) {
  TemporaryDirectory directory;
  std::vector<std::string> arguments = Serving(directory);
  arguments.insert(arguments.end(), {"--data-dir", directory.File("data")});
  Process first(directory, arguments);
  WaitReady(directory, first);
  TemporaryDirectory other;
  std::vector<std::string> same = Serving(other);
  same.insert(same.end(), {"--data-dir", directory.File("data")});
  Process second(other, same);
  EXPECT_EQ(second.Wait(), 2);
  EXPECT_NE(other.Read("stderr").find("process " + std::to_string(first.pid())), std::string::npos)
      << other.Read("stderr");
}

TEST(Program, AReadyFileThatIsNoFileExitsWithOne) {
  TemporaryDirectory directory;
  const std::string pipe = directory.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {directory.path(), pipe, std::string("/dev/null")}) {
    TemporaryDirectory own;
    Process process(own, {"--listen", "127.0.0.1:0", "--ready-file", path});
    EXPECT_EQ(process.Wait(), 1);
    const std::string said = own.Read("stderr");
    EXPECT_NE(said.find("ready_file " + path + ": is not a regular file"), std::string::npos)
        << said;
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
  }
}

TEST(Program, AHangUpDrainsUnlessItIsIgnored) {
  TemporaryDirectory directory;
  {
    Process process(directory, Serving(directory));
    WaitReady(directory, process);
    process.Signal(SIGHUP);
    EXPECT_EQ(process.Wait(), 0);
  }
  signal(SIGHUP, SIG_IGN);  // as nohup does; a program inherits it
  Process process(directory, Serving(directory));
  signal(SIGHUP, SIG_DFL);
  WaitReady(directory, process);
  process.Signal(SIGHUP);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_NE(directory.Read("stderr").find(fmt::format("signal {}: draining", SIGTERM)),
            std::string::npos);
}

TEST(Program, AClosedStandardErrorLeavesTheLogNowhereElse) {
  TemporaryDirectory directory;
  std::vector<std::string> arguments = Serving(directory);
  arguments.insert(arguments.end(), {"--data-dir", directory.File("data")});
  Process process(directory, arguments, kClosed);
  WaitReady(directory, process);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(Lines(directory.Read("data/LOCK")), 1U) << directory.Read("data/LOCK");
}

TEST(Program, AnAddressInUseExitsWithOne) {
  TemporaryDirectory directory;
  TestServer server;
  Process process(directory, {"--listen", server.rpc->listen_address()});
  EXPECT_EQ(process.Wait(), 1);
  const std::string said = directory.Read("stderr");
  EXPECT_EQ(said.rfind("hotrow-server: cannot listen on " + server.rpc->listen_address() +
                           ": Address already in use",
                       0),
            0U)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

}  // namespace
}  // namespace hotrow::testing
