// A cluster of hotrow-server processes on loopback, and values to test it with.
//
// Thread safety: one thread. Ownership: ends its processes when it goes.

#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/client.h"
#include "hotrow/errors.h"

namespace hotrow::testing {

class LocalServers {
 public:
  explicit LocalServers(int shards, std::vector<std::string> extra_arguments = {});
  ~LocalServers();

  const std::vector<std::string>& addresses() const { return addresses_; }
  void Start(int shard);  // returns once it serves
  void Kill(int shard);   // SIGKILL
  // SIGTERM; the exit code, -1 when a signal ended it. A sanitizer's report is not 0.
  int Stop(int shard);
  void Signal(int shard, int signal);  // SIGSTOP (returns once it has stopped), SIGCONT
  pid_t pid(int shard) const { return pids_[static_cast<size_t>(shard)]; }
  // Fails the test when it cannot connect.
  std::shared_ptr<Client> Connect(ConnectOptions options = {}) const;

 private:
  std::string directory_;
  std::vector<std::string> extra_arguments_;
  std::vector<std::string> addresses_;
  std::vector<pid_t> pids_;  // 0: not running
};

int FreePort();

// A mixed hash of (key, column) as a value in [-1, 1), exact in float32.
float ValueOf(Key key, int64_t column);
std::vector<float> ValuesOf(const std::vector<Key>& keys, int64_t dim, uint64_t salt = 0);
std::vector<Key> RandomKeys(size_t count, Key range, uint64_t seed);
std::vector<float> PullRows(const Table& table, const std::vector<Key>& keys);

#define ASSERT_OK(expression)                                      \
  do {                                                             \
    const auto& ok_result = (expression);                          \
    ASSERT_TRUE(ok_result.ok()) << StatusOf(ok_result).ToString(); \
  } while (false)
#define EXPECT_OK(expression)                                      \
  do {                                                             \
    const auto& ok_result = (expression);                          \
    EXPECT_TRUE(ok_result.ok()) << StatusOf(ok_result).ToString(); \
  } while (false)

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}
template <typename T>
ErrorKind KindOf(const T& result) {
  return DescribeError(StatusOf(result)).kind;
}

}  // namespace hotrow::testing
