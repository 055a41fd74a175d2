#include <map>

#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

class Tables : public ::testing::Test {
 protected:
  LocalServers servers_{3};
  std::shared_ptr<Client> client_ = servers_.Connect();
};

TEST_F(Tables, ATableIsMadeOnceWithOneIdOnAllShards) {
  const TableSchema schema{.name = "user", .dim = 4, .optimizer = Adagrad{.lr = 0.5F}};
  const auto table = client_->CreateTable(schema);
  ASSERT_OK(table);
  EXPECT_EQ(KindOf(client_->CreateTable(schema)), ErrorKind::kAlreadyExists);
  const auto same = client_->CreateTable(schema, true);
  ASSERT_OK(same);
  EXPECT_EQ(same->info().table_id, table->info().table_id);
  TableSchema other = schema;
  other.dim = 5;
  EXPECT_EQ(KindOf(client_->CreateTable(other, true)), ErrorKind::kSchemaMismatch);
  const auto opened = servers_.Connect()->OpenTable("user");
  ASSERT_OK(opened);
  EXPECT_EQ(opened->dim(), 4);
  EXPECT_EQ(std::get<Adagrad>(opened->info().schema.optimizer).lr, 0.5F);
  const auto listed = client_->ListTables();
  ASSERT_OK(listed);
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ((*listed)[0].schema.name, "user");
}

TEST_F(Tables, SchemasThatNoServerTakesAreRefusedByName) {
  const TableSchema good{.name = "t", .dim = 4, .optimizer = Sgd{0.1F}};
  const auto kind_of = [&](auto change) {
    TableSchema schema = good;
    change(schema);
    return KindOf(client_->CreateTable(schema));
  };
  const ErrorKind invalid = ErrorKind::kInvalidArgument;
  EXPECT_EQ(kind_of([](TableSchema& s) { s.name = ""; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.name = "a b"; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.name = std::string(129, 'x'); }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.dim = 0; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.dim = 65537; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.optimizer = Sgd{-1.0F}; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.optimizer = Adam{.beta1 = 1.0F}; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.initializer = Uniform{1.0F, 0.0F}; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.gradient_bound = 0.0F; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.gradient_bound = 2e15F; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.optimizer = Sgd{2e15F}; }), invalid);
  EXPECT_EQ(kind_of([](TableSchema& s) { s.durability = Durability::kDisk; }),
            ErrorKind::kUnimplemented);
  EXPECT_TRUE(client_->ListTables()->empty());
  EXPECT_EQ(KindOf(client_->OpenTable("t")), ErrorKind::kNotFound);
}

TEST_F(Tables, ADroppedTableIsGoneFromAllShardsAndItsIdIsNotUsedAgain) {
  const TableSchema schema{.name = "short", .dim = 1, .optimizer = Sgd{1.0F}};
  const auto table = client_->CreateTable(schema);
  ASSERT_OK(table);
  const std::vector<Key> keys = RandomKeys(500, 0, 3);
  ASSERT_OK(table->Push(keys, std::vector<float>(keys.size(), 1.0F)));
  const auto dropped = client_->DropTable("short");
  ASSERT_OK(dropped);
  EXPECT_EQ(*dropped, 500u);
  EXPECT_EQ(KindOf(client_->DropTable("short")), ErrorKind::kNotFound);
  std::vector<float> rows(keys.size());
  EXPECT_EQ(KindOf(table->Pull(keys, rows)), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(table->Push(keys, rows)), ErrorKind::kNotFound);
  const auto again = client_->CreateTable(schema);
  ASSERT_OK(again);
  EXPECT_NE(again->info().table_id, table->info().table_id);
  EXPECT_EQ(PullRows(*again, keys), std::vector<float>(keys.size(), 0.0F));
  EXPECT_OK(again->Push(keys, rows));  // a refused push does not stop later ones
}

TEST(DroppingATable, DropsNothingAnywhereWhereOneShardServesItElsewhere) {
  LocalServers servers(2);
  servers.Kill(0);  // the last one that would be asked to drop
  setenv("HOTROW_ADMIN_LISTEN", "127.0.0.1:0", 1);
  servers.Start(0);
  unsetenv("HOTROW_ADMIN_LISTEN");
  const auto client = servers.Connect();
  const auto table = client->CreateTable({.name = "kept", .dim = 1, .optimizer = Sgd{1.0F}});
  ASSERT_OK(table);
  const std::vector<Key> keys = RandomKeys(500, 0, 3);
  ASSERT_OK(table->Push(keys, std::vector<float>(keys.size(), 1.0F)));
  const absl::Status refused = client->DropTable("kept").status();
  const ErrorDetails error = DescribeError(refused);
  EXPECT_EQ(error.kind, ErrorKind::kPermissionDenied);
  EXPECT_EQ(error.shard, 0);
  EXPECT_EQ(error.table, "kept");
  EXPECT_NE(error.hint.find("hotrowctl --admin 127.0.0.1:"), std::string::npos) << error.hint;
  EXPECT_EQ(PullRows(*table, keys), std::vector<float>(keys.size(), -1.0F));
}

TEST_F(Tables, AScanSeesEveryStoredRowOnceWithItsState) {
  const auto table = client_->CreateTable(
      {.name = "scan", .dim = 3, .optimizer = Adagrad{.lr = 0.1F, .eps = 1.0F}});
  ASSERT_OK(table);
  std::vector<Key> keys(3001);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * i * 31;
  const std::vector<float> gradients = ValuesOf(keys, 3);
  ASSERT_OK(table->Push(keys, gradients));
  std::map<Key, std::vector<float>> rows;
  size_t seen = 0;
  ASSERT_OK(table->Scan(
      100, true,
      [&](std::span<const Key> batch, std::span<const float> values, std::span<const float> state) {
        EXPECT_LE(batch.size(), 100u);
        EXPECT_EQ(state.size(), batch.size() * 3);
        for (size_t i = 0; i < batch.size(); ++i) {
          const auto row = values.subspan(i * 3, 3);
          rows[batch[i]].assign(row.begin(), row.end());
          ++seen;
        }
        return true;
      }));
  EXPECT_EQ(seen, keys.size());
  const std::vector<float> pulled = PullRows(*table, keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(rows[keys[i]],
              std::vector<float>(pulled.begin() + i * 3, pulled.begin() + i * 3 + 3));
  }
  int batches = 0;
  ASSERT_OK(table->Scan(10, false, [&](auto, auto, std::span<const float> state) {
    EXPECT_TRUE(state.empty());
    return ++batches < 2;
  }));
  EXPECT_EQ(batches, 2);
}

TEST_F(Tables, UpsertWritesWeightsAndRemoveTakesRowsAway) {
  const auto table = client_->CreateTable(
      {.name = "load", .dim = 2, .optimizer = Sgd{1.0F}, .initializer = Constant{7.0F}});
  ASSERT_OK(table);
  ASSERT_OK(table->Upsert(std::vector<Key>{1, 2, 1}, std::vector<float>{1, 1, 2, 2, 3, 4}));
  EXPECT_EQ(PullRows(*table, {1, 2, 3}), (std::vector<float>{3, 4, 2, 2, 7, 7}));
  const auto removed = table->Remove(std::vector<Key>{2, 3, 2});
  ASSERT_OK(removed);
  EXPECT_EQ(*removed, 1);
  EXPECT_EQ(*table->Size(), 1);
  EXPECT_EQ(PullRows(*table, {2}), (std::vector<float>{7, 7}));
}

TEST(Capacity, RefusedKeysOfAllShardsAreListedAndTheRestIsApplied) {
  LocalServers servers(2, {"--tiers-hot-budget=8MiB"});
  const auto client = servers.Connect();
  const auto table = client->CreateTable({.name = "full", .dim = 64, .optimizer = Sgd{1.0F}});
  ASSERT_OK(table);
  std::vector<Key> keys(100000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> gradients(keys.size() * 64, 1.0F);
  const auto pushed = table->Push(keys, gradients);
  ASSERT_EQ(KindOf(pushed), ErrorKind::kCapacityFull) << pushed.status();
  EXPECT_EQ(DescribeError(pushed.status()).table, "full");
  const std::vector<Key> refused = RefusedKeys(pushed.status());
  EXPECT_EQ(static_cast<int64_t>(refused.size()) + *table->Size(), 100000);
  EXPECT_GT(*table->Size(), 0);
  // Known keys still learn; a refused key kept its initial value.
  const std::vector<float> rows = PullRows(*table, refused);
  for (const float value : rows) ASSERT_EQ(value, 0.0F);
}

}  // namespace
}  // namespace hotrow::testing
