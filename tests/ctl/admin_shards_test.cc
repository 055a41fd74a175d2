#include "client/ctl/admin_shards.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "hotrow/errors.h"

namespace hotrow::ctl {
namespace {

// A shard that says of itself what it is told to.
class SayingShard final : public v1::AdminService::Service {
 public:
  SayingShard() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
    says.mutable_shard_map()->set_partitions(64);
  }

  const std::string& address() const { return address_; }
  v1::GetShardMapResponse says;  // set before the first call

 private:
  grpc::Status GetShardMap(grpc::ServerContext*, const v1::GetShardMapRequest*,
                           v1::GetShardMapResponse* response) override {
    *response = says;
    return grpc::Status::OK;
  }

  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// One shard that serves rows at `data` and admin calls at `admin`.
struct OneShard {
  SayingShard data;
  SayingShard admin;

  OneShard() {
    for (SayingShard* listener : {&data, &admin}) {
      listener->says.mutable_shard_map()->add_shards(data.address());
      listener->says.set_server_start_id(7);
      listener->says.set_admin_address(admin.address());
    }
  }
  Arguments ByAddress() const { return {.address = data.address()}; }
};

TEST(AdminTarget, IsTheShardItselfWithoutAnAdminListener) {
  EXPECT_EQ(AdminTarget("host-1:7070", ""), "host-1:7070");
  EXPECT_EQ(AdminTarget("unix:/run/hotrow.sock", ""), "unix:/run/hotrow.sock");
}

TEST(AdminTarget, IsOnTheHostOfTheShardWhenItListensEverywhere) {
  EXPECT_EQ(AdminTarget("host-1:7070", "0.0.0.0:7071"), "host-1:7071");
  EXPECT_EQ(AdminTarget("[fd00::1]:7070", "[::]:7071"), "[fd00::1]:7071");
  EXPECT_EQ(AdminTarget("unix:/run/hotrow.sock", "0.0.0.0:7071"), "0.0.0.0:7071");
}

TEST(AdminTarget, IsWhatTheShardSaysOtherwise) {
  EXPECT_EQ(AdminTarget("host-1:7070", "127.0.0.1:7071"), "127.0.0.1:7071");
  EXPECT_EQ(AdminTarget("host-1:7070", "10.1.0.3:7071"), "10.1.0.3:7071");
}

TEST(FindAdminShards, ConnectsToTheListenerThatAShardNames) {
  const OneShard shard;
  const auto found = FindAdminShards(shard.ByAddress());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_TRUE(found->front().status.ok()) << found->front().status;
  EXPECT_EQ(found->front().address, shard.data.address());
  EXPECT_EQ(found->front().admin, shard.admin.address());
}

TEST(FindAdminShards, NeverTakesAnotherShardForTheOneThatWasMeant) {
  OneShard shard;
  shard.admin.says.set_server_start_id(8);
  const auto found = FindAdminShards(shard.ByAddress());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->front().stub, nullptr);
  const ErrorDetails error = DescribeError(found->front().status);
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_NE(error.message.find("another shard"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("--admin"), std::string::npos) << error.hint;
  EXPECT_FALSE(FindAdminShard(shard.ByAddress(), 0).ok());
}

TEST(FindAdminShards, IsTheNamedOneAlone) {
  const OneShard shard;
  const auto found = FindAdminShards({.admin = shard.admin.address()});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().admin, shard.admin.address());
  const auto other = FindAdminShard({.admin = shard.admin.address()}, 1);
  EXPECT_EQ(DescribeError(other.status()).kind, ErrorKind::kNotFound);
}

TEST(FindAdminShards, AShardOutsideOfItsOwnMapIsAnError) {
  OneShard shard;
  shard.admin.says.set_shard(3);
  EXPECT_FALSE(FindAdminShards({.admin = shard.admin.address()}).ok());
}

}  // namespace
}  // namespace hotrow::ctl
