#include <cmath>
#include <cstring>
#include <limits>

#include "hotrow/pulled_batch.h"
#include "kernels/base/position.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> TrainAndPull(int shards, const TableSchema& schema) {
  LocalServers servers(shards);
  const auto client = servers.Connect();
  const auto table = client->CreateTable(schema);
  EXPECT_OK(table);
  for (uint64_t step = 1; step <= 6; ++step) {
    const std::vector<Key> keys = RandomKeys(400, 150, step);  // most keys more than once
    EXPECT_OK(table->Push(keys, ValuesOf(keys, schema.dim, step)));
  }
  std::vector<Key> all(200);  // some never pushed
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return PullRows(*table, all);
}

TEST(Client, TheNumberOfShardsDoesNotChangeABit) {
  const Optimizer optimizers[] = {Sgd{0.1F}, Adagrad{0.1F}, RowwiseAdagrad{0.1F}, Adam{0.01F}};
  for (const Optimizer& optimizer : optimizers) {
    const TableSchema schema{.name = "bits",
                             .dim = 33,
                             .optimizer = optimizer,
                             .initializer = Normal{0.0F, 1.0F},
                             .seed = 7};
    const std::vector<float> one = TrainAndPull(1, schema);
    for (const int shards : {2, 3}) {
      EXPECT_TRUE(SameBits(one, TrainAndPull(shards, schema)))
          << "optimizer " << optimizer.index() << ", " << shards << " shards";
    }
  }
}

class Pulls : public ::testing::Test {
 protected:
  Table Create(const char* name, int64_t dim, Optimizer optimizer = Sgd{1.0F},
               InitializerSpec initializer = Zeros{}) {
    auto table = client_->CreateTable(
        {.name = name, .dim = dim, .optimizer = optimizer, .initializer = initializer});
    EXPECT_OK(table);
    return *table;
  }

  LocalServers servers_{2};
  std::shared_ptr<Client> client_ = servers_.Connect();
};

TEST_F(Pulls, EveryPushedRowComesBackAtAnySize) {
  const int64_t dim = 5;
  const Table table = Create("sizes", dim);
  Key next = 0;
  for (const size_t count : {0, 1, 31, 32, 33, 5000}) {
    std::vector<Key> keys(count);
    for (Key& key : keys) key = MixKeyOfTable(next++, "spread");
    const std::vector<float> gradients = ValuesOf(keys, dim);
    const auto counts = table.Push(keys, gradients);
    ASSERT_OK(counts);
    EXPECT_EQ(counts->rows_created, static_cast<int64_t>(count));
    const std::vector<float> rows = PullRows(table, keys);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], -gradients[i]) << count;
  }
  EXPECT_EQ(*table.Size(), static_cast<int64_t>(next));
}

TEST_F(Pulls, SixtyFiveThousandRowsOfSixteenCrossTheMessageLimitExactly) {
  const int64_t dim = 16;
  const Table table = Create("many", dim);
  std::vector<Key> keys(65536);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7919;
  const std::vector<float> gradients = ValuesOf(keys, dim);
  ASSERT_OK(table.Push(keys, gradients));
  const std::vector<float> rows = PullRows(table, keys);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], -gradients[i]) << i;
}

TEST_F(Pulls, WideRowsAreCutIntoManyMessages) {
  const int64_t dim = 65536;  // 256 KiB a row: 15 fit one message
  const Table table = Create("wide", dim);
  const std::vector<Key> keys = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                                 24, 25, 26, 27, 28, 29, 30, 31, 32, 33};
  const std::vector<float> gradients = ValuesOf(keys, dim);
  ASSERT_OK(table.Push(keys, gradients));
  const std::vector<float> rows = PullRows(table, keys);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], -gradients[i]) << i;
}

TEST_F(Pulls, EqualKeysOfAPushAreSummedBeforeTheOptimizerSeesThem) {
  const Table table = Create("twice", 1, Adagrad{.lr = 0.1F, .eps = 1e-10F}, Constant{1.0F});
  const std::vector<Key> keys = {5, 5};
  ASSERT_OK(table.Push(keys, std::vector<float>{1.0F, 3.0F}));
  EXPECT_FLOAT_EQ(PullRows(table, {5})[0], 0.9F);
  std::vector<float> accumulators;
  ASSERT_OK(table.Scan(10, true, [&](auto, auto, std::span<const float> state) {
    accumulators.insert(accumulators.end(), state.begin(), state.end());
    return true;
  }));
  EXPECT_EQ(accumulators, std::vector<float>{16.0F});
}

TEST_F(Pulls, SkippedKeysHaveNoRowAndRepeatedKeysShareOne) {
  const Table table = Create("padding", 2);
  const std::vector<Key> keys = {9, 7, 9, 8, 7};
  const auto batch = table.PullBatch(keys, Key{9});
  ASSERT_OK(batch);
  const auto positions = (*batch)->positions();
  EXPECT_EQ(std::vector<int32_t>(positions.begin(), positions.end()),
            (std::vector<int32_t>{kSkippedPosition, 0, kSkippedPosition, 1, 0}));
  EXPECT_EQ((*batch)->keys().size(), 2u);
  EXPECT_EQ((*batch)->rows().rows.size(), 2u);
}

TEST_F(Pulls, SeveralTablesTravelInOneMessagePerShard) {
  const Table narrow = Create("narrow", 3);
  const Table broad = Create("broad", 70);
  const std::vector<Key> few = RandomKeys(100, 50, 1);
  const std::vector<Key> many = RandomKeys(3000, 0, 2);
  const std::vector<float> few_gradients = ValuesOf(few, 3, 1);
  const std::vector<float> many_gradients = ValuesOf(many, 70, 2);
  const auto requests = [&] {
    uint64_t pulls = 0;
    for (const ShardStatus& shard : client_->Status()) pulls += shard.pull_requests;
    return pulls;
  };
  const TablePush pushes[] = {{&narrow, few, few_gradients, {}},
                              {&broad, many, many_gradients, {}}};
  ASSERT_OK(client_->PushTables(pushes));
  const TablePull pulls[] = {{&narrow, few, std::nullopt}, {&broad, many, std::nullopt}};
  const uint64_t before = requests();
  const auto batches = client_->PullTables(pulls);
  ASSERT_OK(batches);
  EXPECT_EQ(requests() - before, 2u);
  ASSERT_EQ(batches->size(), 2u);
  const auto broad_rows = PullRows(broad, many);
  for (size_t i = 0; i < many.size(); ++i) {
    const PulledBatch& batch = *(*batches)[1];
    const ConstRowPointer row = batch.rows().rows[batch.positions()[i]];
    for (int c = 0; c < 70; ++c) ASSERT_EQ(static_cast<float>(row[c]), broad_rows[i * 70 + c]);
  }
}

TEST_F(Pulls, ResultsOfAsynchronousCallsArriveAndCanBeWaitedForAgain) {
  const Table table = Create("later", 4);
  const std::vector<Key> keys = {1, 2, 3};
  auto pushed = table.PushAsync(keys, std::vector<float>(12, 1.0F));
  const auto counts = pushed.Wait(std::chrono::seconds(20));
  ASSERT_OK(counts);
  EXPECT_EQ(counts->rows_created, 3);
  auto pulled = table.PullBatchAsync(keys, std::nullopt);
  const auto batch = pulled.Wait(std::chrono::seconds(20));
  ASSERT_OK(batch);
  EXPECT_EQ(static_cast<float>((*batch)->rows().rows[0][0]), -1.0F);
}

TEST_F(Pulls, BadInputIsRefusedBeforeAnythingIsSent) {
  const Table table = Create("guarded", 2);
  const auto bounded = client_->CreateTable({.name = "bounded",
                                             .dim = 2,
                                             .optimizer = Sgd{1.0F},
                                             .num_embeddings = 5,
                                             .gradient_bound = 10.0F});
  ASSERT_OK(bounded);
  const auto requests = [&] {
    uint64_t count = 0;
    for (const ShardStatus& shard : client_->Status()) {
      count += shard.push_requests + shard.pull_requests + shard.requests_failed;
    }
    return count;
  };
  const uint64_t before = requests();
  std::vector<float> rows(4);
  const std::vector<Key> keys = {1, 2};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  using Values = std::vector<float>;
  EXPECT_EQ(KindOf(table.Pull(keys, std::span(rows).first(3))), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(table.Push(keys, Values{1, 2, 3})), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(table.Push(keys, Values{1, 2, nan, 4})), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(table.Push(keys, Values{1, infinity, 3, 4})), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(table.Push(keys, Values{1, 2, 3, 4}, {.learning_rate = nan})),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(table.Push(keys, Values{1, 2, 3, 4}, {.learning_rate = -1.0F})),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(table.Push(keys, Values{1, 2, 3, 4}, {.step = 0})), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(table.Upsert(keys, Values{1, 2, nan, 4})), ErrorKind::kInvalidArgument);
  // The bound holds for sums.
  EXPECT_EQ(KindOf(bounded->Push(std::vector<Key>{3, 3}, Values{9, 0, 9, 0})),
            ErrorKind::kInvalidArgument);
  const auto range = bounded->Push(std::vector<Key>{4, 5}, Values{1, 1, 1, 1});
  EXPECT_EQ(KindOf(range), ErrorKind::kKeyRange);
  EXPECT_NE(range.status().message().find("key 5 at position 1"), absl::string_view::npos);
  EXPECT_EQ(KindOf(bounded->Pull(std::vector<Key>{0, ~Key{0}}, rows)), ErrorKind::kKeyRange);
  EXPECT_OK(bounded->PullBatch(std::vector<Key>{0, ~Key{0}}, ~Key{0}));  // padding may be any key
  const TablePush twice[] = {{&table, keys, rows, {}}, {&table, keys, rows, {}}};
  EXPECT_EQ(KindOf(client_->PushTables(twice)), ErrorKind::kInvalidArgument);
  EXPECT_EQ(requests() - before, 1u);  // the pull with padding: key 0 on one shard
  EXPECT_EQ(*table.Size() + *bounded->Size(), 0);
}

TEST_F(Pulls, EveryBitPatternIsAKey) {
  const Table table = Create("any", 1);
  const std::vector<Key> keys = {0, 1, ~Key{0}, ~Key{1}, Key{1} << 63, (Key{1} << 63) - 1};
  ASSERT_OK(table.Push(keys, std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(PullRows(table, keys), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
}

TEST_F(Pulls, StepsCountPushesAndGoOnWhereTheServersAre) {
  const Table table = Create("steps", 1);
  ASSERT_OK(table.Push(std::vector<Key>{1}, std::vector<float>{1}));
  ASSERT_OK(table.Push({}, {}));  // an empty push counts
  ASSERT_OK(table.Push(std::vector<Key>{2}, std::vector<float>{1}));
  EXPECT_EQ(table.Stats()->highest_step, 3u);
  const auto other = servers_.Connect();
  const auto again = other->OpenTable("steps");
  ASSERT_OK(again);
  EXPECT_EQ(again->info().highest_step, 3u);
  ASSERT_OK(again->Push(std::vector<Key>{1}, std::vector<float>{1}));
  EXPECT_EQ(table.Stats()->highest_step, 4u);
  ASSERT_OK(table.Push(std::vector<Key>{1}, std::vector<float>{1}, {.step = 100}));
  ASSERT_OK(table.Push(std::vector<Key>{1}, std::vector<float>{1}));
  EXPECT_EQ(table.Stats()->highest_step, 101u);
}

TEST_F(Pulls, AfterTheLastStepThatCanBeSaidItStays) {
  constexpr uint64_t last = uint64_t{1} << 53;
  const Table table = Create("last_step", 1);
  const std::vector<Key> keys{1};
  ASSERT_OK(table.Push(keys, std::vector<float>{1}, {.step = last}));
  ASSERT_OK(table.Push(keys, std::vector<float>{1}));
  EXPECT_EQ(table.Stats()->highest_step, last);
  EXPECT_EQ(PullRows(table, keys), std::vector<float>{-2});
}

}  // namespace
}  // namespace hotrow::testing
