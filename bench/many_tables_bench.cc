// Does one pull over many tables cost what one pull over one table costs?
//
// Microseconds of a pull of 26 tables with 2048 keys each, and of a pull of the same rows from one
// table: as many keys, as many stored rows. Fails unless each of both is one message a shard, by
// the shards' own counters. Usage: many_tables_bench --shards HOST:PORT,HOST:PORT with running
// servers; bench/many_tables.py starts them and reads the lines of candidates.h.

#include "bench/candidates.h"
#include "bench/server_table.h"
#include "bench/workload.h"

namespace hotrow::bench {
namespace {

constexpr int64_t kTables = 26;
constexpr int64_t kBatch = 2048;
constexpr int64_t kDim = 16;  // all rows of one shard fit one message
constexpr int64_t kRowsPerTable = 20'000;
constexpr size_t kBatches = 16;

// Keys of a pull, and the same rows as keys of the one table.
struct Batch {
  std::vector<std::vector<Key>> by_table;  // (kTables, kBatch)
  std::vector<Key> all;                    // (kTables x kBatch)
};

std::vector<Batch> DrawBatches() {
  KeySource source = *KeySource::Named("uniform", kRowsPerTable, 1);
  std::vector<Batch> batches(kBatches);
  for (Batch& batch : batches) {
    for (int64_t t = 0; t < kTables; ++t) {
      batch.by_table.push_back(source.Draw(kBatch));
      for (const Key key : batch.by_table.back()) {
        batch.all.push_back(key + static_cast<Key>(t * kRowsPerTable));
      }
    }
  }
  return batches;
}

uint64_t PullMessages(Client& client) {
  uint64_t messages = 0;
  for (const ShardStatus& shard : client.Status()) messages += shard.pull_requests;
  return messages;
}

class ManyTables {
 public:
  explicit ManyTables(std::shared_ptr<Client> client)
      : client_(std::move(client)),
        batches_(DrawBatches()),
        one_(FilledTable(*client_, "one", kDim, kTables * kRowsPerTable)) {
    for (int64_t t = 0; t < kTables; ++t) {
      many_.push_back(FilledTable(*client_, "table_" + std::to_string(t), kDim, kRowsPerTable));
    }
  }

  bool PullMany() {
    const Batch& batch = Next();
    std::vector<TablePull> pulls;
    for (size_t t = 0; t < many_.size(); ++t) pulls.push_back({&many_[t], batch.by_table[t]});
    return client_->PullTables(pulls).ok();
  }

  bool PullOne() { return one_.PullBatch(Next().all, std::nullopt).ok(); }

  // Messages that the shards count for one call.
  template <typename Pull>
  uint64_t MessagesOf(const Pull& pull) {
    const uint64_t before = PullMessages(*client_);
    if (!pull()) return 0;
    return PullMessages(*client_) - before;
  }

 private:
  const Batch& Next() { return batches_[next_++ % batches_.size()]; }

  const std::shared_ptr<Client> client_;
  const std::vector<Batch> batches_;
  const Table one_;
  std::vector<Table> many_;
  size_t next_ = 0;
};

int Main(int argc, char** argv) {
  const std::string shards = Argument(argc, argv, "shards");
  if (shards.empty()) {
    std::fprintf(stderr, "usage: many_tables_bench --shards HOST:PORT,HOST:PORT\n");
    return 2;
  }
  const std::shared_ptr<Client> client = ConnectTo(shards);
  ManyTables tables(client);
  const uint64_t many = tables.MessagesOf([&] { return tables.PullMany(); });
  const uint64_t one = tables.MessagesOf([&] { return tables.PullOne(); });
  const uint64_t wanted = client->shards().size();
  PrintValues("messages", "26 tables", {static_cast<double>(many)});
  if (many != wanted || one != wanted) {
    std::fprintf(stderr,
                 "a pull took %d messages (26 tables) and %d (one), not one for each of %d\n",
                 static_cast<int>(many), static_cast<int>(one), static_cast<int>(wanted));
    return 1;
  }
  const std::vector<Candidate> candidates{{"26 tables", [&](int64_t) { return tables.PullMany(); }},
                                          {"one table", [&](int64_t) { return tables.PullOne(); }}};
  std::vector<std::vector<double>> middle(candidates.size());
  Interleave(
      candidates, 0, {.counted = 9, .calls = 100, .warm_calls = 10},
      [&](size_t i, const RoundSeconds& seconds) { middle[i].push_back(Median(seconds) * 1e6); });
  for (size_t i = 0; i < candidates.size(); ++i) {
    PrintValues(candidates[i].name, "53248 keys", middle[i]);
  }
  return 0;
}

}  // namespace
}  // namespace hotrow::bench

int main(int argc, char** argv) { return hotrow::bench::Main(argc, argv); }
