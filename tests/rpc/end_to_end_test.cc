// Whole requests through sockets, by a client that knows nothing but the generated stubs.

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "proto/wire/status_codec.h"
#include "tests/rpc/temporary_directory.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

std::vector<uint64_t> Keys(size_t count) {
  std::vector<uint64_t> keys(count);
  for (size_t i = 0; i < count; ++i) keys[i] = i == 0 ? ~uint64_t{0} : i * i;
  return keys;
}

std::vector<float> Gradients(const std::vector<uint64_t>& keys, uint32_t dim) {
  std::vector<float> values;
  for (uint64_t key : keys) {
    for (uint32_t column = 0; column < dim; ++column) values.push_back(MixedValue(key, column));
  }
  return values;
}

// -gradient for each: what SGD with learning rate 1 makes of zeros.
std::vector<float> AfterOnePush(const std::vector<uint64_t>& keys, uint32_t dim) {
  std::vector<float> values = Gradients(keys, dim);
  for (float& value : values) value = 0.0F - value;
  return values;
}

void ExpectAllApplied(const v1::PushResponse& response) {
  EXPECT_FALSE(response.has_error()) << response.error().message();
  for (const auto& result : response.results()) {
    EXPECT_EQ(result.outcome(), v1::OUTCOME_APPLIED) << result.error().message();
  }
}

TEST(EndToEnd, WhatIsPushedIsPulled) {
  TestServer server;
  TestClient client = server.Client();
  const uint64_t session = client.OpenSession("0123456789abcdef");
  PushMaker maker(session);
  for (const size_t count : {1, 31, 32, 33, 5000}) {
    const std::string name = "table_" + std::to_string(count);
    const uint32_t dim = static_cast<uint32_t>(count % 7 + 1);
    const PushTarget target{client.CreateTable(name, dim), name, dim};
    const std::vector<uint64_t> keys = Keys(count);
    EXPECT_EQ(Floats(client.Pull(target.id, keys).rows()), std::vector<float>(count * dim, 0.0F));
    ExpectAllApplied(client.Push(maker.Make(target, keys, Gradients(keys, dim))));
    EXPECT_EQ(Floats(client.Pull(target.id, keys).rows()), AfterOnePush(keys, dim)) << name;
  }
}

TEST(EndToEnd, APullOfNothingAnswersNothing) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t table = client.CreateTable("t", 3);
  const v1::PullResponse response = client.Pull(table, {});
  EXPECT_FALSE(response.has_error()) << response.error().message();
  EXPECT_EQ(response.rows(), "");
}

TEST(EndToEnd, AScanGivesEveryStoredRowOnce) {
  TestServer server;
  TestClient client = server.Client();
  const uint32_t dim = 4;
  const PushTarget target{client.CreateTable("scanned", dim), "scanned", dim};
  const std::vector<uint64_t> keys = Keys(1000);
  PushMaker maker(client.OpenSession("0123456789abcdef"));
  ExpectAllApplied(client.Push(maker.Make(target, keys, Gradients(keys, dim))));

  grpc::ClientContext context;
  SetDeadline(context);
  v1::ScanRequest request;
  request.set_table_id(target.id);
  request.set_batch_rows(33);
  auto reader = client.parameters().Scan(&context, request);
  std::map<uint64_t, std::vector<float>> rows;
  v1::ScanResponse batch;
  while (reader->Read(&batch)) {
    EXPECT_LE(batch.row_count(), 33u);
    const size_t row_bytes = 8 + dim * 4;
    ASSERT_EQ(batch.rows().size(), batch.row_count() * row_bytes);
    for (size_t i = 0; i < batch.row_count(); ++i) {
      uint64_t key = 0;
      std::memcpy(&key, batch.rows().data() + i * row_bytes, 8);
      const auto values = Floats(batch.rows().substr(i * row_bytes + 8, dim * 4));
      EXPECT_TRUE(rows.emplace(key, values).second) << "twice: " << key;
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(rows.size(), keys.size());
  for (uint64_t key : keys) EXPECT_EQ(rows[key], AfterOnePush({key}, dim));
}

TEST(EndToEnd, AnAbandonedScanLeavesTheServerServing) {
  TestServer server;
  TestClient client = server.Client();
  const PushTarget target{client.CreateTable("scanned", 64), "scanned", 64};
  PushMaker maker(client.OpenSession("0123456789abcdef"));
  const std::vector<uint64_t> keys = Keys(3000);
  ExpectAllApplied(client.Push(maker.Make(target, keys, Gradients(keys, 64))));
  // More than may run at once, so each must have given its place back.
  for (int i = 0; i < 40; ++i) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ScanRequest request;
    request.set_table_id(target.id);
    request.set_batch_rows(1);
    auto reader = client.parameters().Scan(&context, request);
    v1::ScanResponse batch;
    // Abandoned scans end soon after their clients; until then there may be too many.
    while (!reader->Read(&batch)) {
      ASSERT_EQ(reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      break;
    }
    context.TryCancel();
  }
  EXPECT_FALSE(client.Pull(target.id, keys).has_error());
}

TEST(EndToEnd, AScanOfNoTableSaysSo) {
  TestServer server;
  TestClient client = server.Client();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ScanRequest request;
  request.set_table_id(77);
  auto reader = client.parameters().Scan(&context, request);
  v1::ScanResponse batch;
  EXPECT_FALSE(reader->Read(&batch));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << status.error_message();
}

TEST(EndToEnd, AdminCallsDescribeListCountAndDrop) {
  TestServer server;
  TestClient client = server.Client();
  client.CreateTable("b", 2);
  client.CreateTable("a", 2);
  const auto context = [] {
    auto made = std::make_unique<grpc::ClientContext>();
    SetDeadline(*made);
    return made;
  };
  v1::ListTablesResponse list;
  EXPECT_TRUE(client.admin().ListTables(context().get(), {}, &list).ok());
  ASSERT_EQ(list.tables_size(), 2);
  EXPECT_EQ(list.tables(0).schema().name(), "a");
  v1::DescribeTableRequest describe;
  describe.set_name("b");
  v1::DescribeTableResponse description;
  EXPECT_TRUE(client.admin().DescribeTable(context().get(), describe, &description).ok());
  EXPECT_EQ(description.table().schema().dim(), 2u);
  v1::DropTableRequest drop;
  drop.set_name("b");
  v1::DropTableResponse dropped;
  EXPECT_TRUE(client.admin().DropTable(context().get(), drop, &dropped).ok());
  const grpc::Status missing =
      client.admin().DescribeTable(context().get(), describe, &description);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::NOT_FOUND);
  v1::GetStatsResponse stats;
  EXPECT_TRUE(client.admin().GetStats(context().get(), {}, &stats).ok());
  EXPECT_EQ(stats.tables_size(), 1);
  v1::GetShardMapResponse map;
  EXPECT_TRUE(client.admin().GetShardMap(context().get(), {}, &map).ok());
  EXPECT_EQ(map.shard_map().partitions(), kPartitions);
  EXPECT_EQ(map.shard_map().shards(0), server.rpc->listen_address());
}

TEST(EndToEnd, DeclaredMethodsAreRefusedByName) {
  TestServer server;
  TestClient client = server.Client();
  const auto expect = [](const grpc::Status& status, const std::string& name) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_NE(status.error_message().find(name), std::string::npos) << status.error_message();
    const wire::ErrorInfo error = wire::FromStatus(wire::FromGrpcStatus(status));
    EXPECT_EQ(error.kind, wire::ErrorKind::kUnimplemented);
    EXPECT_NE(error.hint, "");
  };
  grpc::ClientContext first, second, third;
  v1::CreateCheckpointResponse checkpoint;
  expect(client.admin().CreateCheckpoint(&first, {}, &checkpoint), "CreateCheckpoint");
  v1::RestoreResponse restore;
  expect(client.admin().Restore(&second, {}, &restore), "Restore");
  v1::ReshardResponse reshard;
  expect(client.admin().Reshard(&third, {}, &reshard), "Reshard");
}

TEST(EndToEnd, AUnixSocketServesLikeTcp) {
  TemporaryDirectory directory;
  TestServer server({.unix_path = directory.File("hotrow.sock")});
  TestClient client("unix:" + directory.File("hotrow.sock"));
  const uint32_t table = client.CreateTable("t", 3);
  EXPECT_EQ(client.Pull(table, {1, 2}).rows().size(), 2 * 3 * sizeof(float));
}

TEST(EndToEnd, AnAddressInUseIsRefusedByName) {
  TestServer server;
  RpcMetrics metrics;
  const auto second = RpcServer::Listen({.listen = server.rpc->listen_address()}, &metrics);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(server.rpc->listen_address()), std::string::npos);
}

}  // namespace
}  // namespace hotrow::testing
