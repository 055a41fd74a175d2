#include <gtest/gtest.h>

#include "proto/wire/status_codec.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

struct Listeners {
  TestServer server{{.admin_listen = "127.0.0.1:0"}};
  TestClient data = server.Client();
  TestClient admin{server.rpc->admin_address()};
};

template <typename Request, typename Response>
grpc::Status Call(TestClient& client,
                  grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                  const Request& request = {}) {
  grpc::ClientContext context;
  SetDeadline(context);
  Response response;
  return (client.admin().*method)(&context, request, &response);
}

using Stub = v1::AdminService::Stub;

v1::DropTableRequest DropOf(const std::string& table) {
  v1::DropTableRequest request;
  request.set_name(table);
  return request;
}

void ExpectSentThere(const grpc::Status& status, const std::string& address) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const wire::ErrorInfo error = wire::FromStatus(wire::FromGrpcStatus(status));
  EXPECT_EQ(error.kind, wire::ErrorKind::kPermissionDenied);
  EXPECT_NE(error.message.find(address), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("hotrowctl"), std::string::npos) << error.hint;
}

TEST(AdminListener, WhatEndsATrainingIsRefusedBesideTheData) {
  Listeners both;
  const std::string& address = both.server.rpc->admin_address();
  both.data.CreateTable("t", 4);
  ExpectSentThere(Call(both.data, &Stub::DropTable, DropOf("t")), address);
  ExpectSentThere(Call(both.data, &Stub::Drain), address);
  ExpectSentThere(Call(both.data, &Stub::GetSlowCalls), address);
  ExpectSentThere(Call(both.data, &Stub::CreateCheckpoint), address);
  ExpectSentThere(Call(both.data, &Stub::Restore), address);
  ExpectSentThere(Call(both.data, &Stub::Reshard), address);
  // Nothing has happened.
  EXPECT_EQ(both.server.rpc->state(), ServingState::kServing);
  EXPECT_TRUE(Call(both.data, &Stub::DescribeTable,
                   [] {
                     v1::DescribeTableRequest request;
                     request.set_name("t");
                     return request;
                   }())
                  .ok());
}

TEST(AdminListener, TrainersFindAllTheyNeedBesideTheData) {
  Listeners both;
  const uint32_t table = both.data.CreateTable("t", 2);
  PushMaker maker(both.data.OpenSession("0123456789abcdef"));
  both.data.Push(maker.Make({table, "t", 2}, {1, 2}, {1, 1, 1, 1}));
  EXPECT_FALSE(both.data.Pull(table, {1, 2}).has_error());
  EXPECT_TRUE(Call(both.data, &Stub::ListTables).ok());
  EXPECT_TRUE(Call(both.data, &Stub::GetStats).ok());
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetShardMapResponse says;
  EXPECT_TRUE(both.data.admin().GetShardMap(&context, {}, &says).ok());
  EXPECT_EQ(says.admin_address(), both.server.rpc->admin_address());
}

TEST(AdminListener, ServesAdminCallsAndNoRows) {
  Listeners both;
  const uint32_t table = both.data.CreateTable("t", 4);
  EXPECT_TRUE(Call(both.admin, &Stub::ListTables).ok());
  EXPECT_TRUE(Call(both.admin, &Stub::GetSlowCalls).ok());
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = both.admin.parameters().Pull(&context);
  stream->Write(PullOf(1, table, {1}));
  stream->WritesDone();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(Call(both.admin, &Stub::DropTable, DropOf("t")).ok());
  EXPECT_EQ(Call(both.admin, &Stub::DropTable, DropOf("t")).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Call(both.admin, &Stub::Drain).ok());
  EXPECT_EQ(both.server.rpc->state(), ServingState::kDraining);
}

TEST(AdminListener, WithoutOneAllIsServedInOnePlace) {
  TestServer server;
  TestClient client = server.Client();
  client.CreateTable("t", 4);
  EXPECT_EQ(server.rpc->admin_address(), "");
  EXPECT_TRUE(Call(client, &Stub::DropTable, DropOf("t")).ok());
  EXPECT_TRUE(Call(client, &Stub::GetSlowCalls).ok());
  EXPECT_TRUE(Call(client, &Stub::Drain).ok());
}

TEST(AdminListener, AnAddressInUseIsNamedAndLeavesNothingBehind) {
  TestServer server;
  RpcMetrics metrics;
  const auto second = RpcServer::Listen(
      {.listen = "127.0.0.1:0", .admin_listen = server.rpc->listen_address()}, &metrics);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(server.rpc->listen_address()), std::string::npos);
}

}  // namespace
}  // namespace hotrow::testing
