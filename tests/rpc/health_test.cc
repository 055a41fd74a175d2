// Stock tools find what they look for: the health protocol and reflection.

#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <cstring>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckResponse;

// SERVICE_UNKNOWN when there is no such service.
HealthCheckResponse::ServingStatus Check(TestClient& client, const std::string& service) {
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  const grpc::Status status =
      Health::NewStub(client.channel())->Check(&context, request, &response);
  return status.ok() ? response.status() : HealthCheckResponse::SERVICE_UNKNOWN;
}

TEST(Health, ReadyServicesStopBeforeTheServerDoesAndLiveGoesOn) {
  TestServer server;
  TestClient client = server.Client();
  for (const char* service : {"", "ready", "live", "hotrow.v1.ParameterService"}) {
    EXPECT_EQ(Check(client, service), HealthCheckResponse::SERVING) << service;
  }
  EXPECT_EQ(Check(client, "other"), HealthCheckResponse::SERVICE_UNKNOWN);
  EXPECT_EQ(server.rpc->state(), ServingState::kServing);
  EXPECT_TRUE(server.rpc->Alive());
  server.rpc->StopServing();
  for (const char* service : {"", "ready", "hotrow.v1.ParameterService"}) {
    EXPECT_EQ(Check(client, service), HealthCheckResponse::NOT_SERVING) << service;
  }
  EXPECT_EQ(Check(client, "live"), HealthCheckResponse::SERVING);
  EXPECT_EQ(server.rpc->state(), ServingState::kDraining);
}

TEST(Health, WatchTellsTheHealthOfNowAndEveryChange) {
  TestServer server;
  TestClient client = server.Client();
  const auto stub = Health::NewStub(client.channel());
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("ready");
  const auto watched = stub->Watch(&context, request);
  grpc::ClientContext unknown_context;
  SetDeadline(unknown_context);
  request.set_service("other");
  const auto unknown = stub->Watch(&unknown_context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watched->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  ASSERT_TRUE(unknown->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  server.rpc->StopServing();
  ASSERT_TRUE(watched->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  server.rpc->Shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(5));
  EXPECT_FALSE(watched->Read(&response)) << "ended with the server";
  EXPECT_EQ(watched->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Health, WatchersThatLeaveAreForgotten) {
  TestServer server;
  TestClient client = server.Client();
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    SetDeadline(context);
    HealthCheckResponse response;
    const auto watched = Health::NewStub(client.channel())->Watch(&context, {});
    ASSERT_TRUE(watched->Read(&response));
    context.TryCancel();
  }
  server.rpc->StopServing();
  EXPECT_EQ(Check(client, ""), HealthCheckResponse::NOT_SERVING);
}

TEST(Health, TheDrainCallStopsServing) {
  TestServer server;
  TestClient client = server.Client();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::DrainResponse response;
  EXPECT_TRUE(client.admin().Drain(&context, {}, &response).ok());
  EXPECT_EQ(Check(client, "ready"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(server.rpc->state(), ServingState::kDraining);
}

TEST(Health, NothingIsReadyBeforeAShardServes) {
  RpcMetrics metrics;
  auto rpc = RpcServer::Listen({.listen = "127.0.0.1:0"}, &metrics);
  ASSERT_TRUE(rpc.ok());
  TestClient client((*rpc)->listen_address());
  EXPECT_EQ(Check(client, "ready"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(client, "live"), HealthCheckResponse::SERVING);
  EXPECT_EQ((*rpc)->state(), ServingState::kStarting);
}

// One reflection request as bytes, its answer as bytes: no generated stubs are installed.
std::string Reflect(TestClient& client, const std::string& request) {
  grpc::GenericStub stub(client.channel());
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::CompletionQueue queue;
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  auto stream = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  stream->StartCall(nullptr);
  EXPECT_TRUE(wait());
  const grpc::Slice slice(request);
  stream->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
  EXPECT_TRUE(wait());
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  EXPECT_TRUE(wait());
  grpc::Status status;
  stream->Finish(&status, nullptr);
  wait();
  queue.Shutdown();
  grpc::Slice joined;
  EXPECT_TRUE(answer.DumpToSingleSlice(&joined).ok());
  return std::string(reinterpret_cast<const char*>(joined.begin()), joined.size());
}

TEST(Reflection, ListsTheServicesAndDescribesThem) {
  TestServer server;
  TestClient client = server.Client();
  // Field 7: list_services.
  const std::string services = Reflect(client, std::string("\x3a\x01*", 3));
  for (const char* name :
       {"hotrow.v1.ParameterService", "hotrow.v1.AdminService", "grpc.health.v1.Health"}) {
    EXPECT_NE(services.find(name), std::string::npos) << name;
    // Field 4: file_containing_symbol.
    const std::string request = std::string("\x22") + static_cast<char>(strlen(name)) + name;
    EXPECT_NE(Reflect(client, request).find(".proto"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace hotrow::testing
