// A server in the test's process, and what a client written with generated stubs needs to talk to
// it.

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hotrow/v1/admin_service.grpc.pb.h"
#include "hotrow/v1/parameter_service.grpc.pb.h"
#include "server/ops/rpc_metrics.h"
#include "server/rpc/rpc_server.h"
#include "server/shard/shard.h"

namespace hotrow::testing {

inline constexpr uint32_t kPartitions = 8;
inline constexpr auto kTestTimeout = std::chrono::seconds(60);

// A client's view of an address: one connection of its own.
class TestClient {
 public:
  explicit TestClient(const std::string& address);

  v1::ParameterService::Stub& parameters() { return *parameters_; }
  v1::AdminService::Stub& admin() { return *admin_; }
  const std::shared_ptr<grpc::Channel>& channel() { return channel_; }

  // Each fails the test when it does not succeed.
  uint32_t CreateTable(const std::string& name, uint32_t dim);
  uint64_t OpenSession(const std::string& uid);
  // This one gives the status.
  grpc::Status TryOpenSession(const std::string& uid, v1::OpenSessionResponse* response);
  v1::PullResponse Pull(uint32_t table, const std::vector<uint64_t>& keys);
  v1::PushResponse Push(const v1::PushRequest& request);

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ParameterService::Stub> parameters_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

struct TestServer {
  explicit TestServer(RpcServerOptions options = {},
                      std::chrono::milliseconds slow_call = std::chrono::milliseconds(0),
                      int64_t max_sessions = 4096);
  ~TestServer() { rpc->Shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(5)); }

  TestClient Client() const { return TestClient(rpc->listen_address()); }

  RpcMetrics metrics;
  std::unique_ptr<Shard> shard;
  std::unique_ptr<RpcServer> rpc;
};

void SetDeadline(grpc::ClientContext& context);

v1::TableSchema Schema(const std::string& name, uint32_t dim);
v1::PullRequest PullOf(uint64_t request_id, uint32_t table, const std::vector<uint64_t>& keys);

// A table as a push names it.
struct PushTarget {
  uint32_t id = 0;
  std::string name;
  uint32_t dim = 0;
};

// Numbers sub-pushes as a client does: from 1, by partition.
class PushMaker {
 public:
  explicit PushMaker(uint64_t session) : session_(session) {}
  // One push of `gradients` (keys x dim) as sub-pushes of one message.
  v1::PushRequest Make(const PushTarget& target, const std::vector<uint64_t>& keys,
                       const std::vector<float>& gradients);

 private:
  const uint64_t session_;
  uint64_t request_id_ = 0;
  uint64_t step_ = 0;
  std::vector<uint64_t> sequences_ = std::vector<uint64_t>(kPartitions, 0);
};

std::vector<float> Floats(const std::string& bytes);
// A value that depends on key and column alike.
float MixedValue(uint64_t key, uint32_t column);

}  // namespace hotrow::testing
