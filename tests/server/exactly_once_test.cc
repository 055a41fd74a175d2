// The oracle of exactly-once: SGD with learning rate 1 and gradients of whole numbers. A weight is
// minus the sum of the gradients that were applied, so a lost or doubled push shows exactly.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

constexpr uint32_t kDim = 3;
constexpr uint32_t kShards = 3;

class Cluster {
 public:
  Cluster() {
    v1::CreateTableRequest create;
    *create.mutable_schema() = SgdSchema("t", kDim);
    for (uint32_t i = 0; i < kShards; ++i) {
      shards_.push_back(MakeShard({.shards = kShards}, i));
      const auto created = shards_[i]->CreateTable(create);
      EXPECT_TRUE(created.ok()) << created.status();
      create.set_table_id(created->table().table_id());
    }
    table_id_ = create.table_id();
  }

  const wire::ShardMap& map() const { return shards_[0]->map(); }
  Shard& shard(uint32_t i) { return *shards_[i]; }
  uint32_t table_id() const { return table_id_; }

 private:
  std::vector<std::unique_ptr<Shard>> shards_;
  uint32_t table_id_ = 0;
};

// A client whose messages are repeated, held back and cut anew, as a bad network would.
class UnreliableClient {
 public:
  UnreliableClient(Cluster& cluster, uint64_t number)
      : cluster_(cluster), random_(number), number_(number) {
    for (uint32_t i = 0; i < kShards; ++i) {
      session_ = cluster.shard(i).OpenSession(SessionRequest(number))->session();
    }
  }

  // Numbers a push of some keys and notes what it must add up to.
  void Push(std::map<Key, int64_t>* expected) {
    TablePart part{cluster_.table_id(), {}, {}, kDim};
    const int64_t count = static_cast<int64_t>(random_() % 60);
    for (int64_t i = 0; i < count; ++i) {
      const Key key = MixKey(random_() % 400);
      const auto gradient = static_cast<int64_t>(random_() % 9) - 4;
      part.keys.push_back(key);
      for (uint32_t c = 0; c < kDim; ++c) {
        part.rows.push_back(static_cast<float>(gradient * (c + 1)));
      }
      (*expected)[key] += gradient;
    }
    for (const auto& [partition, share] : ByPartition(part, cluster_.map(), wire::TableSalt("t"))) {
      unanswered_[partition].push_back(
          Freeze(partition, ++next_[partition], wire::Operation::kPush, {share}));
    }
  }

  // Sends random prefixes of what is unanswered, old messages again and out of order, and forgets
  // half of the answers.
  void Round() {
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      std::vector<FrozenSubPush> chosen;
      for (const auto& [partition, waiting] : unanswered_) {
        if (cluster_.map().owner(partition) != shard || waiting.empty()) continue;
        const size_t count = random_() % (waiting.size() + 1);
        const size_t first = random_() % 4 == 0 ? random_() % waiting.size() : 0;
        for (size_t i = first; i < std::min(first + count, waiting.size()); ++i) {
          chosen.push_back(waiting[i]);
          if (random_() % 5 == 0) chosen.push_back(waiting[i]);
        }
      }
      const auto response =
          PushNow(cluster_.shard(shard), Message(session_, chosen, 11 + random_() % 100));
      ASSERT_TRUE(response.error.ok());
      const bool answer_is_lost = random_() % 2 == 0;
      if (!answer_is_lost) Take(response);
    }
  }

  bool done() const {
    for (const auto& [partition, waiting] : unanswered_) {
      if (!waiting.empty()) return false;
    }
    return true;
  }

 private:
  void Take(const wire::PushResponse& response) {
    for (const auto& result : response.results) {
      ASSERT_NE(result.outcome, wire::Outcome::kRefused) << result.error.message;
      if (result.outcome == wire::Outcome::kRetry) continue;
      std::erase_if(unanswered_[result.partition], [&](const FrozenSubPush& sub_push) {
        return sub_push.header.sequence == result.sequence;
      });
    }
  }

  Cluster& cluster_;
  std::mt19937_64 random_;
  const uint64_t number_;
  uint64_t session_ = 0;
  std::map<uint32_t, uint64_t> next_;
  std::map<uint32_t, std::vector<FrozenSubPush>> unanswered_;  // in sequence order
};

void ExpectWeights(Cluster& cluster, const std::map<Key, int64_t>& expected) {
  for (const auto& [key, sum] : expected) {
    const uint32_t partition = cluster.map().PartitionOf(key, wire::TableSalt("t"));
    const auto reply = PullNow(cluster.shard(cluster.map().owner(partition)),
                               PullMessage(cluster.table_id(), {key}));
    ASSERT_TRUE(reply.message.error.ok());
    const auto row = Floats(reply.payload);
    for (uint32_t c = 0; c < kDim; ++c) {
      ASSERT_EQ(row[c], static_cast<float>(-sum * (c + 1))) << "key " << key;
    }
  }
}

TEST(ExactlyOnce, HoldsOverThreeShardsUnderReplayLossAndReordering) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Cluster cluster;
  UnreliableClient client(cluster, seed);
  std::map<Key, int64_t> expected;
  for (int push = 0; push < 100; ++push) {
    client.Push(&expected);
    client.Round();
  }
  for (int round = 0; !client.done(); ++round) {
    ASSERT_LT(round, 1000);
    client.Round();
  }
  ExpectWeights(cluster, expected);
  uint64_t duplicates = 0;
  for (uint32_t i = 0; i < kShards; ++i) {
    duplicates += cluster.shard(i).counters().sub_pushes_duplicate.value();
  }
  EXPECT_GT(duplicates, 100U) << "the run was too kind to mean anything";
}

TEST(ExactlyOnce, HoldsForClientsThatPushTheSameKeysAtOnce) {
  constexpr int kClients = 4;
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Cluster cluster;
  std::vector<std::map<Key, int64_t>> parts(kClients);
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      UnreliableClient client(cluster, seed + i);
      for (int push = 0; push < 30; ++push) {
        client.Push(&parts[i]);
        client.Round();
      }
      for (int round = 0; !client.done() && round < 1000; ++round) client.Round();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<Key, int64_t> expected;
  for (const auto& part : parts) {
    for (const auto& [key, sum] : part) expected[key] += sum;
  }
  ExpectWeights(cluster, expected);
}

TEST(ExactlyOnce, CanFailWhenOneSubPushIsNumberedAnew) {
  Cluster cluster;
  const Key key = 5;
  const uint32_t partition = cluster.map().PartitionOf(key, wire::TableSalt("t"));
  Shard& shard = cluster.shard(cluster.map().owner(partition));
  const uint64_t session = shard.OpenSession(SessionRequest(1))->session();
  const TablePart part{cluster.table_id(), {key}, {1, 2, 3}, kDim};
  for (const uint64_t sequence : {1, 2}) {
    PushNow(shard, Message(session, {Freeze(partition, sequence, wire::Operation::kPush, {part})}));
  }
  const auto row = Floats(PullNow(shard, PullMessage(cluster.table_id(), {key})).payload);
  EXPECT_EQ(row[0], -2.0F) << "the oracle sees a push that was applied twice";
}

}  // namespace
}  // namespace hotrow::test
