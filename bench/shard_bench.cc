// How many rows a second does one shard pull and push in process, without a network?
//
//   shard_bench [--rows 1000000] [--dim 64] [--batch 8192] [--partitions 64] [--seconds 1]
//
// Own figures: pulls and Adagrad pushes through the executors that the strand runs, with the push
// as one message of many sub-pushes and as one message a sub-push (what batching over sub-pushes
// gains), and through the whole shard, queue and wake-up included.
// Peer: absl::flat_hash_map of row numbers and a plain loop. Limit: the same loop with the row
// number known beforehand, that is, only the memory traffic and the arithmetic.

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "bench/workload.h"
#include "hotrow/v1/admin_service.pb.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/hashes.h"
#include "server/shard/pull_work.h"
#include "server/shard/push_executor.h"
#include "server/shard/push_work.h"
#include "server/shard/shard.h"
#include "server/shard/shard_state.h"

namespace hotrow {
namespace {

using Clock = std::chrono::steady_clock;

struct Setting {
  int64_t rows = 1'000'000;
  int64_t dim = 64;
  int64_t batch = 8192;
  uint32_t partitions = 64;
  double seconds = 1.0;
};

constexpr int kMessages = 64;  // different ones, used in turn
constexpr float kRate = 0.05F;
constexpr float kEps = 1e-10F;

// Of this thread: a busy machine does not slow it down, but for shared caches.
using bench::ThreadSeconds;
using bench::WallSeconds;

// Median of five runs, in millions of rows a second of `clock`.
double Measure(const Setting& setting, const std::function<int64_t(int)>& run,
               double (*clock)() = ThreadSeconds) {
  std::vector<double> rates;
  for (int repeat = 0; repeat < 5; ++repeat) {
    int64_t rows = 0;
    const double start = clock();
    double elapsed = 0;
    for (int i = 0; elapsed < setting.seconds / 5; ++i) {
      rows += run(i % kMessages);
      elapsed = clock() - start;
    }
    rates.push_back(static_cast<double>(rows) / elapsed / 1e6);
  }
  std::sort(rates.begin(), rates.end());
  return rates[2];
}

Key KeyOfRow(int64_t row) { return MixKey(static_cast<uint64_t>(row) + 1); }

v1::CreateTableRequest Creation(const Setting& setting) {
  v1::CreateTableRequest request;
  request.mutable_schema()->set_name("bench");
  request.mutable_schema()->set_dim(static_cast<uint32_t>(setting.dim));
  auto* adagrad = request.mutable_schema()->mutable_optimizer()->mutable_adagrad();
  adagrad->set_lr(kRate);
  adagrad->set_eps(kEps);
  return request;
}

v1::OpenSessionRequest Session() {
  v1::OpenSessionRequest request;
  const std::string uid(16, 'b');
  request.set_client_uid(uid);
  request.set_session(wire::SessionId(std::as_bytes(std::span(uid)), 0));
  return request;
}

wire::Payload AsPayload(const std::vector<std::byte>& bytes) {
  return wire::Payload({grpc::Slice(bytes.data(), bytes.size())}, 0, bytes.size());
}

wire::PullRequest PullOf(uint32_t table_id, std::span<const Key> keys) {
  wire::PullRequest request;
  request.timeline = 1;
  request.map_version = 1;
  request.tables = {{table_id, static_cast<uint32_t>(keys.size())}};
  std::vector<std::byte> bytes(keys.size_bytes());
  std::memcpy(bytes.data(), keys.data(), bytes.size());
  request.keys = AsPayload(bytes);
  return request;
}

// A push of all keys, one sub-push a partition. Sequences are set when it is sent.
wire::PushRequest PushOf(const Setting& setting, uint32_t table_id, std::span<const Key> keys,
                         const wire::ShardMap& map) {
  wire::PushRequest request;
  request.timeline = 1;
  request.map_version = 1;
  request.session = Session().session();
  std::vector<std::vector<Key>> cut(setting.partitions);
  for (const Key key : keys) cut[map.PartitionOf(key, wire::TableSalt("bench"))].push_back(key);
  std::vector<std::byte> bytes;
  for (uint32_t partition = 0; partition < setting.partitions; ++partition) {
    if (cut[partition].empty()) continue;
    wire::SubPush sub_push;
    sub_push.partition = partition;
    sub_push.tables = {{table_id, static_cast<uint32_t>(cut[partition].size()),
                        static_cast<uint32_t>(setting.dim), 1, kRate}};
    std::vector<std::byte> part(sub_push.payload_bytes());
    std::memcpy(part.data(), cut[partition].data(), cut[partition].size() * sizeof(Key));
    auto* gradients = reinterpret_cast<float*>(part.data() + cut[partition].size() * sizeof(Key));
    for (size_t i = 0; i < cut[partition].size() * setting.dim; ++i) {
      gradients[i] = static_cast<float>(MixKey(i) % 1000) / 1000.0F - 0.5F;
    }
    sub_push.content_hash = wire::ContentHash(sub_push, AsPayload(part));
    bytes.insert(bytes.end(), part.begin(), part.end());
    request.sub_pushes.push_back(std::move(sub_push));
  }
  request.payload = AsPayload(bytes);
  return request;
}

std::vector<wire::PushRequest> OneMessageASubPush(const wire::PushRequest& request) {
  std::vector<wire::PushRequest> messages;
  size_t offset = 0;
  for (const wire::SubPush& sub_push : request.sub_pushes) {
    wire::PushRequest message = request;
    message.sub_pushes = {sub_push};
    message.payload = request.payload.Part(offset, sub_push.payload_bytes());
    offset += sub_push.payload_bytes();
    messages.push_back(std::move(message));
  }
  return messages;
}

class Bench {
 public:
  explicit Bench(const Setting& setting)
      : setting_(setting),
        options_{.shard = 0,
                 .map = *wire::ShardMap::Static({"bench"}, setting.partitions),
                 .memory_budget_bytes = int64_t{8} << 30},
        next_(setting.partitions, 1) {
    bench::KeySource source = *bench::KeySource::Named("uniform", setting.rows, 1);
    for (int i = 0; i < kMessages; ++i) {
      std::vector<int64_t> rows;
      std::vector<Key> keys;
      for (const Key row : source.Draw(setting.batch)) {
        rows.push_back(static_cast<int64_t>(row));
        keys.push_back(KeyOfRow(rows.back()));
      }
      rows_.push_back(std::move(rows));
      keys_.push_back(std::move(keys));
    }
  }

  int Run() {
    std::printf("%-52s %8s\n", "M rows/s of one core's time", "");
    MeasureMemory();
    MeasureExecutors();
    MeasureShard();
    return 0;
  }

 private:
  void Print(const char* what, double rate) { std::printf("%-52s %8.2f\n", what, rate); }

  void Number(wire::PushRequest* request) {
    for (wire::SubPush& sub_push : request->sub_pushes) {
      sub_push.sequence = next_[sub_push.partition]++;
    }
  }

  // Pushes every row once.
  template <typename Send>
  void Fill(uint32_t table_id, const Send& send) {
    std::vector<Key> keys;
    for (int64_t row = 0; row < setting_.rows; ++row) {
      keys.push_back(KeyOfRow(row));
      if (static_cast<int64_t>(keys.size()) < setting_.batch && row + 1 < setting_.rows) continue;
      wire::PushRequest request = PushOf(setting_, table_id, keys, options_.map);
      Number(&request);
      send(std::move(request));
      keys.clear();
    }
  }

  void MeasureMemory() {
    const size_t dim = setting_.dim;
    std::vector<float> weights(setting_.rows * dim, 0.5F);
    std::vector<float> state(setting_.rows * dim, 1.0F);
    std::vector<float> reply(setting_.batch * dim);
    std::vector<float> gradients(setting_.batch * dim, 0.25F);
    absl::flat_hash_map<Key, int64_t> index;
    for (int64_t row = 0; row < setting_.rows; ++row) index[KeyOfRow(row)] = row;
    const auto pull = [&](size_t i, int64_t row) {
      std::memcpy(&reply[i * dim], &weights[row * dim], dim * sizeof(float));
    };
    const auto push = [&](size_t i, int64_t row) {
      float* w = &weights[row * dim];
      float* h = &state[row * dim];
      const float* g = &gradients[i * dim];
      for (size_t c = 0; c < dim; ++c) {
        h[c] += g[c] * g[c];
        w[c] -= kRate * g[c] / (std::sqrt(h[c]) + kEps);
      }
    };
    const auto known = [&](const auto& body) {
      return Measure(setting_, [&](int m) {
        for (size_t i = 0; i < rows_[m].size(); ++i) body(i, rows_[m][i]);
        return setting_.batch;
      });
    };
    const auto mapped = [&](const auto& body) {
      return Measure(setting_, [&](int m) {
        for (size_t i = 0; i < keys_[m].size(); ++i) body(i, index.find(keys_[m][i])->second);
        return setting_.batch;
      });
    };
    Print("limit: pull, row numbers known", known(pull));
    Print("peer:  pull, absl::flat_hash_map", mapped(pull));
    Print("limit: Adagrad push, row numbers known", known(push));
    Print("peer:  Adagrad push, absl::flat_hash_map", mapped(push));
  }

  void MeasureExecutors() {
    ShardState state(options_, 1, nullptr);
    StrandState strand(state, 0);
    PullWork pulls(state);
    PushWork pushes(state);
    PushExecutor executor(strand);
    const auto plan = state.tables.PlanCreation(Creation(setting_));
    if (!strand.tables.Create(plan->entry->options).ok()) std::abort();
    state.tables.Publish(plan->entry);
    const uint32_t table_id = plan->entry->id;
    std::vector<uint64_t> ended;
    const auto now = Clock::now();
    if (!state.sessions.Open(Session(), now, &ended).ok()) std::abort();
    const auto send = [&](const wire::PushRequest& request) {
      pushes.Prepare(request);
      pushes.Run(executor, 0, now);
      for (const auto& result : pushes.Finish().message.results) {
        if (result.outcome != wire::Outcome::kApplied || result.duplicate) std::abort();
      }
    };
    Fill(table_id, send);

    std::vector<wire::PullRequest> asked;
    std::vector<wire::PushRequest> whole;
    std::vector<std::vector<wire::PushRequest>> single;
    for (int i = 0; i < kMessages; ++i) {
      asked.push_back(PullOf(table_id, keys_[i]));
      whole.push_back(PushOf(setting_, table_id, keys_[i], options_.map));
      single.push_back(OneMessageASubPush(whole.back()));
    }
    Print("pull", Measure(setting_, [&](int m) {
            if (!pulls.Prepare(asked[m]).ok()) std::abort();
            pulls.Run(strand, 0);
            if (!pulls.Finish().message.error.ok()) std::abort();
            return setting_.batch;
          }));
    Print("Adagrad push, one message", Measure(setting_, [&](int m) {
            Number(&whole[m]);
            send(whole[m]);
            return setting_.batch;
          }));
    Print("Adagrad push, one message a sub-push", Measure(setting_, [&](int m) {
            for (wire::PushRequest& message : single[m]) {
              Number(&message);
              send(message);
            }
            return setting_.batch;
          }));
  }

  void MeasureShard() {
    std::fill(next_.begin(), next_.end(), 1);
    auto shard = *Shard::Create(options_);
    const auto table_id = shard->CreateTable(Creation(setting_))->table().table_id();
    if (!shard->OpenSession(Session()).ok()) std::abort();
    const auto send = [&](wire::PushRequest request) {
      std::promise<bool> answered;
      shard->Push(std::move(request), Deadline::max(),
                  [&](PushReply reply) { answered.set_value(reply.message.error.ok()); });
      if (!answered.get_future().get()) std::abort();
    };
    Fill(table_id, send);
    std::vector<wire::PushRequest> whole;
    for (int i = 0; i < kMessages; ++i) {
      whole.push_back(PushOf(setting_, table_id, keys_[i], options_.map));
    }
    Print("pull through the shard's queue (wall time)",
          Measure(
              setting_,
              [&](int m) {
                std::promise<void> answered;
                shard->Pull(PullOf(table_id, keys_[m]), Deadline::max(),
                            [&](PullReply) { answered.set_value(); });
                answered.get_future().get();
                return setting_.batch;
              },
              WallSeconds));
    Print("Adagrad push through the shard's queue (wall time)", Measure(
                                                                    setting_,
                                                                    [&](int m) {
                                                                      Number(&whole[m]);
                                                                      send(whole[m]);
                                                                      return setting_.batch;
                                                                    },
                                                                    WallSeconds));
  }

  const Setting setting_;
  const ShardOptions options_;
  std::vector<uint64_t> next_;              // by partition
  std::vector<std::vector<int64_t>> rows_;  // (kMessages, batch)
  std::vector<std::vector<Key>> keys_;
};

}  // namespace
}  // namespace hotrow

int main(int argc, char** argv) {
  hotrow::Setting setting;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--rows") setting.rows = std::atoll(argv[i + 1]);
    if (name == "--dim") setting.dim = std::atoll(argv[i + 1]);
    if (name == "--batch") setting.batch = std::atoll(argv[i + 1]);
    if (name == "--partitions") setting.partitions = std::atoi(argv[i + 1]);
    if (name == "--seconds") setting.seconds = std::atof(argv[i + 1]);
  }
  return hotrow::Bench(setting).Run();
}
