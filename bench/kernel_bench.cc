// How fast are the host kernels? Dedupe, pooling and optimizers, each beside the memory limit
// measured in the same run: rows that memcpy would move per second on one core.
//
//   kernel_bench [rows] [dim] [threads]        default: 1,000,000 rows of 64 float32, one thread
//
// One thread is timed by its processor time, since the machine may be shared; several by wall time,
// which needs as many idle cores. Dedupe of keys always takes one thread.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "bench/workload.h"
#include "kernels/dedupe/dedupe.h"
#include "kernels/initializers/initializer.h"
#include "kernels/optimizers/row_optimizer.h"
#include "kernels/pooling/pooling.h"

namespace hotrow {
namespace {

constexpr int64_t kBags = 8192;
constexpr int64_t kBagSize = 20;
constexpr int64_t kPushRows = 65536;
constexpr uint64_t kSeed = 42;

clockid_t timing_clock = CLOCK_THREAD_CPUTIME_ID;

double Seconds() { return bench::SecondsOf(timing_clock); }

// Best time of one call among at least 7 and about half a second of them: other load on the machine
// only ever adds.
template <typename F>
double BestSeconds(const F& f) {
  double best = 1e30;
  const double end = Seconds() + 0.5;
  for (int i = 0; i < 7 || Seconds() < end; ++i) {
    const double begin = Seconds();
    f();
    best = std::min(best, Seconds() - begin);
  }
  return best;
}

struct Report {
  double limit_rows_per_s;  // 0: no limit to compare with

  void Line(const std::string& what, double count, double seconds) const {
    const double rate = count / seconds;
    if (limit_rows_per_s > 0) {
      std::printf("%-44s %8.2f M/s   limit %8.2f M/s   %.2f of it\n", what.c_str(), rate / 1e6,
                  limit_rows_per_s / 1e6, rate / limit_rows_per_s);
    } else {
      std::printf("%-44s %8.2f M/s\n", what.c_str(), rate / 1e6);
    }
  }
};

double MemcpyBytesPerSecond() {
  constexpr size_t kBytes = size_t{256} << 20;
  std::vector<std::byte> from(kBytes, std::byte{1});
  std::vector<std::byte> to(kBytes, std::byte{2});
  return static_cast<double>(kBytes) /
         BestSeconds([&] { std::memcpy(to.data(), from.data(), kBytes); });
}

class Bench {
 public:
  Bench(int64_t rows, int64_t dim, ThreadTeam& team)
      : rows_(rows), dim_(dim), space_{&team}, table_(Values(rows * dim)) {
    const double memcpy_rate = MemcpyBytesPerSecond();
    row_limit_ = {memcpy_rate / static_cast<double>(dim * 4)};
    update_limit_ = {row_limit_.limit_rows_per_s / 3};  // read a row, read a gradient, write a row
    std::printf("%lld rows of %lld float32, threads: %d; memcpy %.1f GB/s\n",
                static_cast<long long>(rows), static_cast<long long>(dim), team.threads(),
                memcpy_rate / 1e9);
  }

  void Run() {
    RunInitializers();
    for (const char* const distribution : {"uniform", "zipf1.05"}) {
      bench::KeySource source = *bench::KeySource::Named(distribution, rows_, kSeed);
      name_ = std::string(" ") + distribution;
      const std::vector<Key> keys = source.Draw(kBags * kBagSize);
      RunDedupe(keys);
      for (const PoolingMode mode : {PoolingMode::kSum, PoolingMode::kMean, PoolingMode::kMax}) {
        RunPooling(keys, mode);
      }
      Deduper deduper;
      deduper.Run(source.Draw(kPushRows));
      RunOptimizers({deduper.unique().begin(), deduper.unique().end()});
    }
  }

 private:
  static std::vector<float> Values(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 977) / 977.0F;
    return values;
  }

  std::vector<ConstRowPointer> RowsOf(std::span<const Key> keys) const {
    std::vector<ConstRowPointer> rows;
    for (const Key key : keys) {
      rows.push_back(AsRow(static_cast<const void*>(&table_[key * static_cast<size_t>(dim_)])));
    }
    return rows;
  }

  void RunInitializers() {
    std::vector<Key> keys(8192);
    std::vector<float> out(keys.size() * static_cast<size_t>(dim_));
    std::vector<RowPointer> rows;
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = i;
      rows.push_back(AsRow(static_cast<void*>(&out[i * static_cast<size_t>(dim_)])));
    }
    const auto line = [&](const char* name, InitializerKind kind) {
      const double seconds = BestSeconds(
          [&] { InitializeRows(space_, {kind, 0.0F, 1.0F, 1, 2}, keys, {rows, dim_}); });
      row_limit_.Line(name, static_cast<double>(keys.size()), seconds);
    };
    line("initialize uniform", InitializerKind::kUniform);
    line("initialize normal", InitializerKind::kNormal);
  }

  void RunDedupe(const std::vector<Key>& keys) {
    Deduper deduper;
    const double seconds = BestSeconds([&] { deduper.Run(keys); });
    Report{0}.Line("dedupe keys" + name_, static_cast<double>(keys.size()), seconds);
    const auto unique = static_cast<int64_t>(deduper.unique().size());
    std::printf("  %lld of %zu keys are unique\n", static_cast<long long>(unique), keys.size());
    const std::vector<float> gradients = Values(kBags * kBagSize * dim_);
    std::vector<ConstRowPointer> rows;
    for (size_t i = 0; i < keys.size(); ++i) {
      rows.push_back(AsRow(static_cast<const void*>(&gradients[i * static_cast<size_t>(dim_)])));
    }
    std::vector<float> sums(static_cast<size_t>(unique * dim_));
    DuplicateSummer summer;
    const double sum_seconds = BestSeconds([&] {
      summer.Run(space_, {deduper.inverse(), {}, {}, {rows, dim_}, unique}, sums.data());
    });
    row_limit_.Line("sum duplicates" + name_, static_cast<double>(keys.size()), sum_seconds);
  }

  void RunPooling(const std::vector<Key>& keys, PoolingMode mode) {
    const char* const names[] = {"sum", "mean", "max"};
    const std::string name = std::string(names[static_cast<int>(mode)]) + name_;
    Deduper deduper;
    deduper.Run(keys);
    const std::vector<ConstRowPointer> rows = RowsOf(deduper.unique());
    std::vector<int64_t> offsets;
    for (int64_t b = 0; b <= kBags; ++b) offsets.push_back(b * kBagSize);
    const BagsView bags{mode, offsets, deduper.inverse(), {}};
    std::vector<float> out(static_cast<size_t>(kBags * dim_));
    std::vector<int32_t> argmax(mode == PoolingMode::kMax ? out.size() : 0);
    const auto n = static_cast<double>(keys.size());
    row_limit_.Line("pool forward " + name, n, BestSeconds([&] {
                      PoolForward(space_, bags, {rows, dim_}, out.data(), argmax);
                    }));
    const auto unique = static_cast<int64_t>(rows.size());
    std::vector<float> gradients(static_cast<size_t>(unique * dim_));
    const PoolGradient gradient{out.data(), dim_, argmax, {}, unique};
    row_limit_.Line("pool backward " + name, n,
                    BestSeconds([&] { PoolBackward(space_, bags, gradient, gradients.data()); }));
    if (mode != PoolingMode::kSum) return;
    std::vector<float> weight_gradients(keys.size());
    row_limit_.Line("pool backward weights" + name_, n, BestSeconds([&] {
                      PoolBackwardWeights(space_, bags, gradient, {rows, dim_},
                                          weight_gradients.data());
                    }));
  }

  void RunOptimizers(const std::vector<Key>& keys) {
    const std::vector<float> values = Values(static_cast<int64_t>(keys.size()) * dim_);
    std::vector<ConstRowPointer> gradients;
    for (size_t i = 0; i < keys.size(); ++i) {
      gradients.push_back(AsRow(static_cast<const void*>(&values[i * static_cast<size_t>(dim_)])));
    }
    for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                     OptimizerKind::kRowwiseAdagrad, OptimizerKind::kAdam}) {
      const RowLayout layout = RowLayout::Of(dim_, StateColumns(kind, dim_));
      std::vector<__int128> store(static_cast<size_t>(rows_ * layout.row_bytes / 16), 1);
      std::vector<std::byte*> records;
      for (const Key key : keys) {
        records.push_back(reinterpret_cast<std::byte*>(store.data()) +
                          static_cast<int64_t>(key) * layout.row_bytes);
      }
      const OptimizerOptions options{.kind = kind, .eps = 1e-8F};
      const double seconds = BestSeconds([&] {
        ApplyGradients(space_, options, {0.01F, 7}, {layout, records, {gradients, dim_}});
      });
      update_limit_.Line("update " + std::string(OptimizerName(kind)) + name_,
                         static_cast<double>(keys.size()), seconds);
    }
  }

  const int64_t rows_;
  const int64_t dim_;
  const HostSpace space_;
  const std::vector<float> table_;
  Report row_limit_{};
  Report update_limit_{};
  std::string name_;
};

}  // namespace
}  // namespace hotrow

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 1000000;
  const int64_t dim = argc > 2 ? std::atoll(argv[2]) : 64;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 1;
  auto team = hotrow::ThreadTeam::Create(threads);
  if (rows <= 0 || dim <= 0 || !team.ok() || argc > 4) {
    std::fprintf(stderr, "usage: kernel_bench [rows] [dim] [threads]\n");
    return 2;
  }
  if (threads > 1) hotrow::timing_clock = CLOCK_MONOTONIC;
  hotrow::Bench(rows, dim, **team).Run();
  return 0;
}
