// Listening and accepting: the bound on connections, and what happens where descriptors run out.

#include "server/rpc/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>

#include "server/rpc/descriptor_limit.h"
#include "tests/rpc/temporary_directory.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

using std::chrono::steady_clock;

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = steady_clock::now() + kTestTimeout;
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 2);
  }
  return true;
}

// A connection to a port of this machine.
class Dial {
 public:
  explicit Dial(int port) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  Dial(Dial&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), connected_(other.connected_) {}
  ~Dial() { Close(); }

  bool connected() const { return connected_; }
  void Close() {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  }
  // The server has closed it.
  bool IsClosed() const {
    char byte = 0;
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return poll(&waiting, 1, 0) == 1 && recv(descriptor_, &byte, 1, 0) <= 0;
  }

 private:
  int descriptor_;
  bool connected_ = false;
};

// An acceptor whose connections are kept open, or closed, by the test.
struct Accepting {
  explicit Accepting(int64_t max_connections) {
    TcpSockets tcp = *ListenTcp("127.0.0.1:0");
    port = tcp.port;
    acceptor = std::make_unique<Acceptor>(Acceptor::Options{.sockets = std::move(tcp.sockets),
                                                            .max_connections = max_connections,
                                                            .take = [this](int descriptor) {
                                                              const MutexLock lock(mutex);
                                                              taken.push_back(descriptor);
                                                            }});
  }
  ~Accepting() {
    acceptor->Stop();
    CloseAll();
  }
  size_t Taken() {
    const MutexLock lock(mutex);
    return taken.size();
  }
  void CloseAll() {
    const MutexLock lock(mutex);
    for (int descriptor : taken) close(descriptor);
    taken.clear();
  }

  int port = 0;
  Mutex mutex;
  std::vector<int> taken;
  std::unique_ptr<Acceptor> acceptor;
};

// UndefinedBehaviorSanitizer makes a pipe to look at an object's type, and calls a call an error
// when it gets none.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kCanDoWithoutDescriptors = false;
#else
constexpr bool kCanDoWithoutDescriptors = true;
#endif

// No descriptor is free while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    const int lowest_free = dup(0);
    close(lowest_free);
    none.rlim_cur = static_cast<rlim_t>(lowest_free);
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Acceptor, HandsOverEveryConnectionWithoutDelayOfSmallMessages) {
  Accepting accepting(64);
  std::vector<Dial> dials;
  for (int i = 0; i < 33; ++i) dials.emplace_back(accepting.port);
  ASSERT_TRUE(Eventually([&] { return accepting.Taken() == 33; }));
  const MutexLock lock(accepting.mutex);
  for (int descriptor : accepting.taken) {
    int at_once = 0;
    socklen_t size = sizeof(at_once);
    getsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &at_once, &size);
    EXPECT_EQ(at_once, 1);
    EXPECT_NE(fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(Acceptor, ClosesWhatIsBeyondTheBoundAndTakesMoreOnceThereIsRoom) {
  Accepting accepting(3);
  std::vector<Dial> dials;
  for (int i = 0; i < 3; ++i) dials.emplace_back(accepting.port);
  ASSERT_TRUE(Eventually([&] { return accepting.Taken() == 3; }));
  const Dial beyond(accepting.port);
  ASSERT_TRUE(Eventually([&] { return beyond.IsClosed(); }));
  EXPECT_EQ(accepting.acceptor->counts().refused, 1u);
  EXPECT_EQ(accepting.acceptor->counts().open, 3);
  EXPECT_EQ(accepting.acceptor->counts().limit, 3);
  for (const Dial& dial : dials) EXPECT_FALSE(dial.IsClosed());

  accepting.CloseAll();
  std::vector<Dial> later;
  ASSERT_TRUE(Eventually([&] {
    later.emplace_back(accepting.port);
    return accepting.Taken() > 0;
  }));
  EXPECT_EQ(accepting.acceptor->counts().accepted, 3u + accepting.Taken());
}

TEST(Acceptor, CountsWhatIsOpenNotWhatWas) {
  Accepting accepting(64);
  std::vector<Dial> dials;
  for (int i = 0; i < 31; ++i) dials.emplace_back(accepting.port);
  ASSERT_TRUE(Eventually([&] { return accepting.Taken() == 31; }));
  EXPECT_EQ(accepting.acceptor->counts().open, 31);
  accepting.CloseAll();
  // Other files in the place of the sockets are not taken for connections.
  std::set<int> files;
  for (int i = 0; i < 31; ++i) files.insert(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(Eventually([&] { return accepting.acceptor->counts().open == 0; }));
  for (int file : files) close(file);
}

TEST(Acceptor, GoesOnAfterDescriptorsHadRunOut) {
  if (!kCanDoWithoutDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors";
  Accepting accepting(64);
  {
    Dial first(accepting.port);
    ASSERT_TRUE(Eventually([&] { return accepting.Taken() == 1; }));
  }
  std::vector<Dial> waiting;
  int unconnected = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(accepting.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  {
    const NoDescriptors none;
    ASSERT_EQ(connect(unconnected, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_TRUE(Eventually([&] { return accepting.acceptor->failing_for().count() > 0; }));
    // It pauses between its tries, and shows that it lives.
    ASSERT_TRUE(Eventually([&] { return accepting.acceptor->failing_for().count() > 250; }));
    EXPECT_TRUE(accepting.acceptor->AliveWithin(std::chrono::seconds(10)));
    EXPECT_EQ(accepting.Taken(), 1u);
  }
  EXPECT_TRUE(Eventually([&] { return accepting.Taken() == 2; }));
  EXPECT_TRUE(Eventually([&] { return accepting.acceptor->failing_for().count() == 0; }));
  close(unconnected);
}

TEST(Acceptor, StopsAtOnceAndClosesItsSockets) {
  Accepting accepting(64);
  accepting.acceptor->Stop();
  EXPECT_FALSE(Dial(accepting.port).connected());
  accepting.acceptor->Stop();
}

TEST(Acceptor, StopsWhereThereWasNoDescriptorToWakeItWith) {
  if (!kCanDoWithoutDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors";
  std::unique_ptr<Acceptor> acceptor;
  {
    const NoDescriptors none;
    acceptor = std::make_unique<Acceptor>(Acceptor::Options{.sockets = {}, .max_connections = 1});
  }
  acceptor->Stop();  // or the test runs out of time
}

TEST(ListenSocket, APortInUseIsRefusedWithTheReason) {
  const TcpSockets first = *ListenTcp("127.0.0.1:0");
  const std::string address = "127.0.0.1:" + std::to_string(first.port);
  const auto second = ListenTcp(address);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(address + ": Address already in use"), std::string::npos)
      << second.status();
}

TEST(ListenSocket, EveryAddressMeansBothFamilies) {
  const TcpSockets all = *ListenTcp("0.0.0.0:0");
  EXPECT_GT(all.port, 0);
  EXPECT_TRUE(Dial(all.port).connected());
  const TcpSockets named = *ListenTcp("localhost:0");
  EXPECT_TRUE(Dial(named.port).connected());
}

TEST(ListenSocket, APortThatAnotherHasInOneFamilyIsRefused) {
  const auto other = ListenTcp("[::1]:0");
  if (!other.ok()) GTEST_SKIP() << "no IPv6 here";
  for (const char* host : {"0.0.0.0:", "[::]:"}) {
    EXPECT_FALSE(ListenTcp(host + std::to_string(other->port)).ok()) << host;
  }
}

TEST(ListenSocket, ASocketOfAnotherTypeIsInUseAndKept) {
  TemporaryDirectory directory;
  const std::string path = directory.File("s");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  for (const int type : {SOCK_DGRAM, SOCK_SEQPACKET}) {
    const int other = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(other, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const auto refused = ListenUnix(path);
    EXPECT_FALSE(refused.ok());
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
    close(other);
    unlink(path.c_str());
  }
}

TEST(ListenSocket, APathIsRemovedAtTheEndAndADeadSocketReplaced) {
  TemporaryDirectory directory;
  const std::string path = directory.File("s");
  {
    const ListenSocket first = *ListenUnix(path);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  // As a killed server leaves it.
  const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(dead);
  const auto second = ListenUnix(path);
  EXPECT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(ListenUnix(path).ok());
}

TEST(ListenSocket, APathThatASuccessorHasTakenIsKept) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("s");
  auto first = std::make_unique<ListenSocket>(*ListenUnix(path));
  ASSERT_EQ(unlink(path.c_str()), 0);  // as what tidies /tmp does
  const auto successor = ListenUnix(path);
  ASSERT_TRUE(successor.ok()) << successor.status();
  first = nullptr;
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
}

TEST(ListenSocket, AFileInThePlaceOfASocketIsKeptAndNamed) {
  TemporaryDirectory directory;
  const std::string path = directory.Write("file", "mine");
  const auto refused = ListenUnix(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("unix:" + path), std::string::npos);
  EXPECT_NE(refused.status().message().find("no socket"), std::string::npos) << refused.status();
  EXPECT_EQ(directory.Read("file"), "mine");
}

TEST(DescriptorLimit, LeavesRoomBesideTheConnections) {
  EXPECT_EQ(ConnectionsUnder(1024), 832);
  EXPECT_EQ(ConnectionsUnder(64), 32);
  EXPECT_EQ(ConnectionsUnder(1), 1);
  EXPECT_EQ(ConnectionsUnder(1 << 20), 16384);
  EXPECT_EQ(RaiseDescriptorLimit(), DescriptorLimit());
}

// The whole server: an outage that lasts is told by its health, and ends by itself.
TEST(Acceptor, AServerWithoutDescriptorsSaysThatItIsNotReadyAndThenRecovers) {
  if (!kCanDoWithoutDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors";
  TestServer server;
  TestClient open = server.Client();
  const uint32_t table = open.CreateTable("t", 2);
  const int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::string& listen = server.rpc->listen_address();
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(listen.substr(listen.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  {
    const NoDescriptors none;
    ASSERT_EQ(connect(late, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_TRUE(Eventually([&] { return !server.rpc->Accepting(); }));
    EXPECT_TRUE(server.rpc->Alive());
    EXPECT_EQ(open.Pull(table, {1}).rows().size(), 2 * sizeof(float));
  }
  EXPECT_TRUE(Eventually([&] { return server.rpc->Accepting(); }));
  EXPECT_EQ(server.Client().Pull(table, {1}).rows().size(), 2 * sizeof(float));
  close(late);
}

TEST(Acceptor, AServerRefusesConnectionsBeyondItsBoundAndServesTheOthers) {
  TestServer server({.max_connections = 2});
  TestClient first = server.Client();
  TestClient second = server.Client();
  const uint32_t table = first.CreateTable("t", 2);
  EXPECT_EQ(second.Pull(table, {1}).rows().size(), 2 * sizeof(float));
  TestClient third = server.Client();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTestTimeout);
  v1::ListTablesResponse tables;
  EXPECT_EQ(third.admin().ListTables(&context, {}, &tables).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_GE(server.rpc->connections().refused, 1u);
  EXPECT_EQ(first.Pull(table, {1}).rows().size(), 2 * sizeof(float));
}

TEST(ListenSocket, AServerThatDoesNotAcceptStillHasItsUnixSocket) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("hotrow.sock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int listening = socket(AF_UNIX, kType, 0);
  ASSERT_EQ(bind(listening, generic, sizeof(address)), 0);
  ASSERT_EQ(listen(listening, 1), 0);
  std::vector<int> queue;
  do {
    queue.push_back(socket(AF_UNIX, kType, 0));
  } while (connect(queue.back(), generic, sizeof(address)) == 0);
  EXPECT_FALSE(ListenUnix(path).ok());
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  for (const int descriptor : queue) close(descriptor);
  close(listening);
}

}  // namespace
}  // namespace hotrow::testing
