#include "tests/client/local_servers.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>

#include "kernels/base/key.h"

namespace hotrow::testing {
namespace {

constexpr std::chrono::seconds kStartLimit(60);

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ",") + word;
  return joined;
}

}  // namespace

int FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  close(socket);
  return ntohs(address.sin_port);
}

LocalServers::LocalServers(int shards, std::vector<std::string> extra_arguments)
    : extra_arguments_(std::move(extra_arguments)), pids_(shards, 0) {
  char pattern[] = "/tmp/hotrow_client_test_XXXXXX";
  directory_ = mkdtemp(pattern);
  for (int i = 0; i < shards; ++i) addresses_.push_back("127.0.0.1:" + std::to_string(FreePort()));
  for (int i = 0; i < shards; ++i) Start(i);
}

LocalServers::~LocalServers() {
  for (size_t i = 0; i < pids_.size(); ++i) Kill(static_cast<int>(i));
  std::filesystem::remove_all(directory_);
}

void LocalServers::Start(int shard) {
  const std::string ready = directory_ + "/ready_" + std::to_string(shard);
  std::filesystem::remove(ready);
  std::vector<std::string> words = {
      HOTROW_SERVER_PROGRAM,          "--shard=" + std::to_string(shard),
      "--shards=" + Join(addresses_), "--listen=" + addresses_[shard],
      "--metrics=127.0.0.1:0",        "--log-level=error",
      "--ready-file=" + ready};
  words.insert(words.end(), extra_arguments_.begin(), extra_arguments_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pids_[shard] = fork();
  ASSERT_GE(pids_[shard], 0);
  if (pids_[shard] == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that dies leaves no server behind
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (!std::filesystem::exists(ready)) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "the server did not come up";
    ASSERT_EQ(waitpid(pids_[shard], nullptr, WNOHANG), 0) << "the server ended";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void LocalServers::Kill(int shard) {
  if (pids_[shard] == 0) return;
  kill(pids_[shard], SIGKILL);
  waitpid(pids_[shard], nullptr, 0);
  pids_[shard] = 0;
}

int LocalServers::Stop(int shard) {
  int status = 0;
  kill(pids_[shard], SIGTERM);
  waitpid(std::exchange(pids_[shard], 0), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void LocalServers::Signal(int shard, int signal) {
  kill(pids_[shard], signal);
  // The last of its threads may still answer for a while.
  if (signal == SIGSTOP) waitpid(pids_[shard], nullptr, WUNTRACED);
}

std::shared_ptr<Client> LocalServers::Connect(ConnectOptions options) const {
  if (options.addresses.empty()) options.addresses = {addresses_[0]};
  auto client = Client::Connect(std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *client : nullptr;
}

float ValueOf(Key key, int64_t column) {
  const uint64_t mixed = MixKey(MixKey(key) + static_cast<uint64_t>(column));
  return static_cast<float>(mixed >> 40) / static_cast<float>(1 << 23) - 1.0F;
}

std::vector<float> ValuesOf(const std::vector<Key>& keys, int64_t dim, uint64_t salt) {
  std::vector<float> values(keys.size() * dim);
  for (size_t i = 0; i < keys.size(); ++i) {
    for (int64_t c = 0; c < dim; ++c) values[i * dim + c] = ValueOf(keys[i] ^ MixKey(salt + i), c);
  }
  return values;
}

std::vector<Key> RandomKeys(size_t count, Key range, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(count);
  for (Key& key : keys) key = range == 0 ? random() : random() % range;
  return keys;
}

std::vector<float> PullRows(const Table& table, const std::vector<Key>& keys) {
  std::vector<float> rows(keys.size() * table.dim(), -12345.0F);
  EXPECT_OK(table.Pull(keys, rows));
  return rows;
}

}  // namespace hotrow::testing
