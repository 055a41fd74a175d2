// A table that is not on all shards: what is refused, what is completed, and that no refusal
// changes anything.

#include <grpcpp/create_channel.h>

#include <atomic>
#include <thread>

#include "hotrow/v1/admin_service.grpc.pb.h"
#include "tests/client/local_servers.h"
#include "tests/slowdown.h"

namespace hotrow::testing {
namespace {

bool Has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

class LostParts : public ::testing::Test {
 protected:
  void Restart(int shard) {
    servers_.Kill(shard);
    servers_.Start(shard);
  }
  Table Create() {
    auto table = servers_.Connect()->CreateTable(schema_);
    EXPECT_OK(table);
    return *table;
  }
  Table CreateAndPush() {
    Table table = Create();
    EXPECT_OK(table.Push(keys_, std::vector<float>(keys_.size(), 1.0F)));
    return table;
  }
  // A shard without what the client adds.
  std::unique_ptr<v1::AdminService::Stub> Shard(int shard) {
    return v1::AdminService::NewStub(
        grpc::CreateChannel(servers_.addresses()[shard], grpc::InsecureChannelCredentials()));
  }
  uint32_t IdOn(int shard) {  // 0: not there
    grpc::ClientContext context;
    v1::DescribeTableRequest request;
    v1::DescribeTableResponse response;
    request.set_name("rows");
    return Shard(shard)->DescribeTable(&context, request, &response).ok()
               ? response.table().table_id()
               : 0;
  }
  void CreateOn(int shard, uint32_t id) {
    grpc::ClientContext context;
    v1::CreateTableRequest request;
    v1::CreateTableResponse response;
    request.mutable_schema()->set_name("rows");
    request.mutable_schema()->set_dim(1);
    request.mutable_schema()->mutable_optimizer()->mutable_sgd()->set_lr(1.0F);
    request.set_table_id(id);
    const grpc::Status made = Shard(shard)->CreateTable(&context, request, &response);
    ASSERT_TRUE(made.ok()) << made.error_message();
  }
  void DropOn(int shard) {
    grpc::ClientContext context;
    v1::DropTableRequest request;
    v1::DropTableResponse response;
    request.set_name("rows");
    ASSERT_TRUE(Shard(shard)->DropTable(&context, request, &response).ok());
  }
  std::vector<uint32_t> Ids() { return {IdOn(0), IdOn(1), IdOn(2)}; }
  uint64_t RowsLeft() {
    uint64_t rows = 0;
    for (const ShardStatus& shard : servers_.Connect()->Status()) {
      for (const TableStatistics& table : shard.tables) rows += table.rows;
    }
    return rows;
  }

  const TableSchema schema_{.name = "rows", .dim = 1, .optimizer = Sgd{1.0F}};
  const std::vector<Key> keys_ = RandomKeys(300, 0, 7);
  LocalServers servers_{3};
};

class OneLostPart : public LostParts, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(EachShard, OneLostPart, ::testing::Values(0, 1, 2));

TEST_P(OneLostPart, IsNeverMadeAnewWhileOthersHoldRows) {
  CreateAndPush();
  Restart(GetParam());
  const std::vector<uint32_t> ids = Ids();
  const uint64_t left = RowsLeft();
  const auto client = servers_.Connect();
  TableSchema other = schema_;
  other.dim = 2;
  for (const absl::Status& refused :
       {client->CreateTable(schema_, true).status(), client->CreateTable(schema_).status(),
        client->CreateTable(other, true).status(), client->OpenTable("rows").status()}) {
    const ErrorDetails error = DescribeError(refused);
    EXPECT_EQ(error.kind, ErrorKind::kDataLoss) << refused;
    EXPECT_EQ(error.shard, GetParam());
    EXPECT_EQ(error.table, "rows");
    EXPECT_TRUE(Has(error.message, servers_.addresses()[GetParam()])) << error.message;
    EXPECT_TRUE(Has(error.message, "2 shards of 3 still hold " + std::to_string(left) +
                                       " rows of it, up to step 1"))
        << error.message;
    EXPECT_TRUE(Has(error.hint, "drop_table('rows'), create it and restore all")) << error.hint;
  }
  EXPECT_EQ(Ids(), ids);
  EXPECT_EQ(RowsLeft(), left);
}

TEST_P(OneLostPart, IsNoHindranceToDroppingTheRest) {
  CreateAndPush();
  Restart(GetParam());
  const uint64_t left = RowsLeft();
  ASSERT_GT(left, 0u);
  const auto client = servers_.Connect();
  const auto dropped = client->DropTable("rows");
  ASSERT_OK(dropped);
  EXPECT_EQ(*dropped, left);
  EXPECT_EQ(Ids(), std::vector<uint32_t>(3, 0));
  const auto again = client->CreateTable(schema_);
  ASSERT_OK(again);
  EXPECT_EQ(*again->Size(), 0);
  EXPECT_OK(again->Push(keys_, std::vector<float>(keys_.size(), 1.0F)));
}

TEST_P(OneLostPart, IsMadeAnewWhileNothingIsStored) {
  const uint32_t id = Create().info().table_id;
  Restart(GetParam());
  const auto client = servers_.Connect();
  const absl::Status opened = client->OpenTable("rows").status();
  EXPECT_EQ(KindOf(opened), ErrorKind::kNotFound) << opened;
  EXPECT_EQ(DescribeError(opened).shard, GetParam());
  EXPECT_TRUE(Has(DescribeError(opened).hint, "create_table(exist_ok=True)"));
  EXPECT_EQ(IdOn(GetParam()), 0u);  // the question has made nothing
  EXPECT_EQ(KindOf(client->CreateTable(schema_)), ErrorKind::kAlreadyExists);
  EXPECT_EQ(IdOn(GetParam()), 0u);
  const auto again = client->CreateTable(schema_, true);
  ASSERT_OK(again);
  EXPECT_EQ(Ids(), std::vector<uint32_t>(3, id));
  EXPECT_OK(again->Push(keys_, std::vector<float>(keys_.size(), 1.0F)));
  EXPECT_OK(client->OpenTable("rows"));
}

TEST_P(OneLostPart, IsMissedByWhoeverCountsTheRows) {
  CreateAndPush();
  const auto table = servers_.Connect()->OpenTable("rows");
  ASSERT_OK(table);
  Restart(GetParam());
  EXPECT_EQ(KindOf(table->Size()), ErrorKind::kDataLoss);
  const auto tool = servers_.Connect({.access = Access::kInspect});
  EXPECT_TRUE(Has(DescribeError(tool->OpenTable("rows").status()).hint,
                  "hotrowctl drop rows --yes, create it"));
}

TEST_F(LostParts, RowsThatWereLoadedAndStepsWithoutRowsCountAsStored) {
  Table table = Create();
  ASSERT_OK(table.Upsert(keys_, std::vector<float>(keys_.size(), 1.0F)));
  Restart(1);
  const auto client = servers_.Connect();
  EXPECT_EQ(KindOf(client->CreateTable(schema_, true)), ErrorKind::kDataLoss);
  ASSERT_OK(client->DropTable("rows"));
  table = CreateAndPush();
  ASSERT_OK(table.Remove(keys_));
  Restart(2);
  EXPECT_EQ(KindOf(servers_.Connect()->CreateTable(schema_, true)), ErrorKind::kDataLoss);
}

TEST_F(LostParts, ACreationThatFailsHasMadeNothing) {
  const auto client = servers_.Connect({.timeout = kSlowdown * std::chrono::milliseconds(500)});
  servers_.Kill(2);
  const absl::Status down = client->CreateTable(schema_).status();
  EXPECT_EQ(KindOf(down), ErrorKind::kUnavailable) << down;
  EXPECT_EQ(DescribeError(down).shard, 2);
  EXPECT_EQ(IdOn(0), 0u);
  EXPECT_EQ(IdOn(1), 0u);
  servers_.Start(2);
  Create();
  Restart(0);
  TableSchema other = schema_;
  other.dim = 2;
  const absl::Status refused = servers_.Connect()->CreateTable(other, true).status();
  EXPECT_EQ(KindOf(refused), ErrorKind::kSchemaMismatch) << refused;
  EXPECT_EQ(IdOn(0), 0u);
}

TEST_F(LostParts, PartsOfWorkersThatCrossedAreRefusedAsSuchUntilTheyAreDropped) {
  const auto client = servers_.Connect();
  const auto expect_crossed = [&](const std::vector<uint32_t>& ids) {
    const absl::Status refused = client->CreateTable(schema_, true).status();
    const ErrorDetails error = DescribeError(refused);
    EXPECT_EQ(error.kind, ErrorKind::kAlreadyExists) << refused;
    EXPECT_TRUE(Has(error.message, "several workers at once")) << error.message;
    EXPECT_TRUE(Has(error.hint, "drop_table('rows')")) << error.hint;
    EXPECT_EQ(KindOf(client->OpenTable("rows")), ErrorKind::kNotFound);
    EXPECT_EQ(Ids(), ids);
  };
  CreateOn(0, 5);
  CreateOn(1, 6);
  expect_crossed({5, 6, 0});
  EXPECT_EQ(client->DropTable("rows").value_or(99), 0u);
  const uint32_t id = Create().info().table_id;
  DropOn(0);  // which will not take this id again
  expect_crossed({0, id, id});
  EXPECT_EQ(client->DropTable("rows").value_or(99), 0u);
  Create();
}

TEST_F(LostParts, WorkersThatDropAndCreateAtOnceEndWithATableThatWorks) {
  std::atomic<int> wrong = 0;
  const auto churn = [&] {
    const auto client = servers_.Connect();
    for (int round = 0; round < 40; ++round) {
      const absl::Status dropped = client->DropTable("rows").status();
      if (!dropped.ok() && KindOf(dropped) != ErrorKind::kNotFound) ++wrong;
      const absl::Status created = client->CreateTable(schema_, true).status();
      if (created.ok() || Has(std::string(created.message()), "several workers at once")) continue;
      ++wrong;
      ADD_FAILURE() << created;
    }
  };
  std::thread other(churn);
  churn();
  other.join();
  EXPECT_EQ(wrong, 0);
  const auto client = servers_.Connect();
  (void)client->DropTable("rows");
  const auto table = client->CreateTable(schema_, true);
  ASSERT_OK(table);
  EXPECT_OK(table->Push(keys_, std::vector<float>(keys_.size(), 1.0F)));
}

TEST_F(LostParts, ATableOfNoShardIsSaidWithoutAShardAndFitsTheCall) {
  const auto client = servers_.Connect();
  const auto inspector = servers_.Connect({.access = Access::kInspect});
  const ErrorDetails opened = DescribeError(client->OpenTable("nope").status());
  const ErrorDetails dropped = DescribeError(client->DropTable("nope").status());
  const ErrorDetails asked = DescribeError(inspector->OpenTable("nope").status());
  for (const ErrorDetails& error : {opened, dropped, asked}) {
    EXPECT_EQ(error.kind, ErrorKind::kNotFound);
    EXPECT_EQ(error.shard, -1);
    EXPECT_EQ(error.table, "nope");
    EXPECT_EQ(error.message, "no shard has a table 'nope'");
  }
  EXPECT_EQ(opened.hint, "create_table makes it; tables() lists what is there.");
  EXPECT_EQ(dropped.hint, "tables() lists what is there.");
  EXPECT_EQ(asked.hint, "hotrowctl tables lists what is there.");
}

TEST_F(LostParts, AnotherSchemaIsAnsweredWithAWayThatLosesNothing) {
  CreateAndPush();
  const auto client = servers_.Connect();
  TableSchema rate = schema_;
  rate.optimizer = Sgd{0.5F};
  const ErrorDetails other_rate = DescribeError(client->CreateTable(rate, true).status());
  EXPECT_EQ(other_rate.kind, ErrorKind::kSchemaMismatch);
  EXPECT_TRUE(Has(other_rate.message, "optimizer.sgd.lr")) << other_rate.message;
  EXPECT_TRUE(Has(other_rate.hint, "SparseOptimizer(lr=) or push(lr=)")) << other_rate.hint;
  EXPECT_FALSE(Has(other_rate.hint, "drop")) << other_rate.hint;
  TableSchema dim = schema_;
  dim.dim = 3;
  TableSchema rule = rate;
  rule.optimizer = Adagrad{0.5F};
  for (const TableSchema& asked : {dim, rule}) {
    const ErrorDetails error = DescribeError(client->CreateTable(asked, true).status());
    EXPECT_EQ(error.kind, ErrorKind::kSchemaMismatch);
    EXPECT_TRUE(Has(error.hint, "Open the table as it is")) << error.hint;
    EXPECT_FALSE(Has(error.hint, "lr=") || Has(error.hint, "drop")) << error.hint;
  }
  EXPECT_EQ(RowsLeft(), keys_.size());
}

}  // namespace
}  // namespace hotrow::testing
