#include "tests/fault/push_run.h"

#include <chrono>
#include <deque>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/client/local_servers.h"
#include "tests/fault/message_proxy.h"

namespace hotrow::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kKeys = 4096;
constexpr int kKeysOfAPush = 16;
constexpr size_t kUnderWay = 12;  // pushes of a thread
constexpr std::chrono::seconds kLongestPush(60);

// One thread's pushes and what it may expect of them.
class Pusher {
 public:
  Pusher(Table table, uint64_t seed, uint64_t first_id)
      : oracle(kKeys), table_(std::move(table)), random_(seed), next_id_(first_id) {}

  void Run(int64_t pushes) {
    for (int64_t i = 0; i < pushes && first_error.empty(); ++i) {
      if (under_way_.size() >= kUnderWay) TakeOldest();
      Push();
    }
    while (!under_way_.empty()) TakeOldest();
  }

  PushOracle oracle;
  int64_t failed = 0;
  std::string first_error;
  int64_t wrong_counts = 0;
  int64_t rows_created = 0;

 private:
  void Push() {
    const uint64_t id = next_id_++;
    std::vector<int64_t> numbers;
    std::vector<Key> keys;
    std::vector<float> gradients;
    // Distinct: a run of numbers from a random start.
    const auto start = static_cast<int64_t>(random_() % kKeys);
    for (int i = 0; i < kKeysOfAPush; ++i) {
      numbers.push_back((start + i) % kKeys);
      keys.push_back(PushOracle::KeyOf(numbers.back()));
      gradients.push_back(1.0F);
      gradients.push_back(PushOracle::NumberOf(id));
    }
    oracle.Note(id, numbers);
    under_way_.push_back(table_.PushAsync(keys, gradients));
  }

  void TakeOldest() {
    const absl::StatusOr<PushCounts> counts = under_way_.front().Wait(kLongestPush);
    under_way_.pop_front();
    if (!counts.ok()) {
      ++failed;
      if (first_error.empty()) first_error = counts.status().ToString();
      return;
    }
    if (counts->rows_created + counts->rows_updated != kKeysOfAPush) ++wrong_counts;
    rows_created += counts->rows_created;
  }

  const Table table_;
  std::mt19937_64 random_;
  uint64_t next_id_;
  std::deque<Future<PushCounts>> under_way_;
};

using Proxies = std::vector<std::unique_ptr<MessageProxy>>;

void RunThreads(std::vector<std::unique_ptr<Pusher>>& pushers, int64_t pushes) {
  const auto count = static_cast<int64_t>(pushers.size());
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t share = pushes / count + (i < pushes % count ? 1 : 0);
    threads.emplace_back([&pusher = *pushers[i], share] { pusher.Run(share); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<float> AllRows(const LocalServers& servers, const char* name) {
  const auto direct = servers.Connect();
  const absl::StatusOr<Table> table = direct->OpenTable(name);
  EXPECT_OK(table);
  std::vector<Key> keys;
  for (int64_t i = 0; i < kKeys; ++i) keys.push_back(PushOracle::KeyOf(i));
  return PullRows(*table, keys);
}

// One direction of all proxies.
FaultShares Describe(const std::string& direction, const std::vector<const FaultCounts*>& all,
                     std::string& text) {
  int64_t messages = 0;
  int64_t dropped = 0;
  int64_t duplicated = 0;
  int64_t reordered = 0;
  for (const FaultCounts* counts : all) {
    messages += counts->messages;
    dropped += counts->dropped;
    duplicated += counts->duplicated;
    reordered += counts->reordered;
  }
  const double one = 1.0 / std::max<double>(1.0, static_cast<double>(messages));
  const FaultShares shares{one * dropped, one * duplicated, one * reordered};
  absl::StrAppendFormat(&text,
                        "%s: %d messages, %d dropped (%.1f %%), %d duplicated (%.1f %%), %d "
                        "reordered (%.1f %%)\n",
                        direction, messages, dropped, 100.0 * shares.dropped, duplicated,
                        100.0 * shares.duplicated, reordered, 100.0 * shares.reordered);
  return shares;
}

void Conclude(const PushRunOptions& options, const Proxies& proxies, PushRunReport& report) {
  std::vector<const FaultCounts*> requests;
  std::vector<const FaultCounts*> replies;
  for (const auto& proxy : proxies) {
    requests.push_back(&proxy->requests());
    replies.push_back(&proxy->replies());
    report.cuts += proxy->cuts();
  }
  report.requests = Describe("requests", requests, report.text);
  report.replies = Describe("replies", replies, report.text);
  const PushOracle::Verdict& verdict = report.verdict;
  absl::StrAppendFormat(
      &report.text,
      "%d pushes at %.0f a second, %d cuts, %d sub-pushes came twice\nlost %d, applied twice %d, "
      "wrong rows %d of %d; pushes that raised %d, with wrong counts %d; seed %d\n",
      options.pushes, report.pushes_a_second, report.cuts, report.duplicates, verdict.lost,
      verdict.twice, verdict.wrong_rows, verdict.keys, report.failed_pushes, report.wrong_counts,
      options.seed);
}

}  // namespace

PushRunReport RunPushes(const PushRunOptions& options) {
  PushRunReport report;
  LocalServers servers(options.shards);
  Proxies proxies;
  ConnectOptions connect{.timeout = kLongestPush};
  for (const std::string& address : servers.addresses()) {
    proxies.push_back(
        std::make_unique<MessageProxy>(address, options.rates, options.seed + proxies.size()));
    connect.address_map[address] = proxies.back()->address();
  }
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<std::unique_ptr<Pusher>> pushers;
  for (int i = 0; i < options.clients; ++i) {
    clients.push_back(servers.Connect(connect));
    const absl::StatusOr<Table> table = clients.back()->CreateTable(
        {.name = "counts", .dim = PushOracle::kDim, .optimizer = Sgd{1.0F}}, true);
    EXPECT_OK(table);
    for (int thread = 0; thread < options.threads; ++thread) {
      const uint64_t number = pushers.size();
      pushers.push_back(
          std::make_unique<Pusher>(*table, MixKey(options.seed + number), number << 32));
    }
  }
  const auto began = Clock::now();
  RunThreads(pushers, options.pushes);
  const std::chrono::duration<double> took = Clock::now() - began;
  report.pushes_a_second = static_cast<double>(options.pushes) / took.count();

  // What the proxies still hold, duplicates among it, must reach the shards before rows are read.
  for (const auto& client : clients) EXPECT_OK(client->Close());
  for (const auto& proxy : proxies) EXPECT_TRUE(proxy->Settle());

  PushOracle expected(kKeys);
  for (const auto& pusher : pushers) {
    expected.Add(pusher->oracle);
    report.failed_pushes += pusher->failed;
    report.wrong_counts += pusher->wrong_counts;
    report.rows_created += pusher->rows_created;
    if (report.first_error.empty()) report.first_error = pusher->first_error;
  }
  report.verdict = expected.Judge(AllRows(servers, "counts"));
  for (const ShardStatus& shard : servers.Connect()->Status()) {
    report.duplicates += shard.sub_pushes_duplicate;
  }
  Conclude(options, proxies, report);
  return report;
}

}  // namespace hotrow::testing
