// How fast are a worker's bags pooled, forward and backward, from the rows of a pull as received?
//
// Rounds on command (command_loop.h), M looked-up rows/s; bench/pooling.py interleaves them with
// torch. Bags of 20; each batch is pulled once, before the clock starts, and its rows stay where
// they were received. Operations:
//
//   forward:MODE:KEYS:THREADS    what follows the pull in a forward pass: PooledBags::Of
//   backward:MODE:KEYS:THREADS   the gradient of each row: PooledBags::Backward
//   limit                        memcpy of a row for each key
//
//   pooling_bench --tcp HOST:PORT --rows=N --dim=N --batch=N   with a running hotrow-server

#include <cstring>
#include <map>
#include <sstream>

#include "bench/command_loop.h"
#include "bench/server_table.h"
#include "client/python/src/pooled_bags.h"

namespace hotrow::bench {
namespace {

using python::BagsInput;
using python::GradientScale;
using python::PooledBags;

constexpr int64_t kBagSize = 20;
constexpr size_t kBatches = 8;

struct Operation {
  std::string what;
  std::string mode;
  std::string keys;
  int threads = 1;

  static Operation Of(const std::string& text) {
    Operation operation;
    std::istringstream in(text);
    std::string threads;
    std::getline(in, operation.what, ':');
    std::getline(in, operation.mode, ':');
    std::getline(in, operation.keys, ':');
    std::getline(in, threads);
    operation.threads = std::atoi(threads.c_str());
    return operation;
  }
};

class Bench {
 public:
  Bench(const Shape& shape, const std::shared_ptr<Client>& client)
      : shape_(shape),
        table_(FilledTable(*client, "pooling", shape.dim, 0)),
        outputs_(shape.batch / kBagSize * shape.dim),
        out_gradient_(static_cast<size_t>(outputs_), 0.5F) {
    for (int64_t at = 0; at <= shape.batch; at += kBagSize) offsets_.push_back(at);
  }

  Call Find(const std::string& text) {
    if (text == "limit") return [this] { CopyRowsOfKeys(); };
    const Operation operation = Operation::Of(text);
    const std::map<std::string, PoolingMode> modes = {
        {"sum", PoolingMode::kSum}, {"mean", PoolingMode::kMean}, {"max", PoolingMode::kMax}};
    BagsInput input;
    input.mode = modes.at(operation.mode);
    input.offsets = offsets_;
    input.threads = operation.threads;
    const auto& pulled = Pulled(operation.keys);
    if (operation.what == "forward") {
      return [this, input, &pulled] {
        const auto out = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(outputs_));
        PooledBags::Of(pulled[next_++ % kBatches], input,
                       {out.get(), static_cast<size_t>(outputs_)});
      };
    }
    return operation.what == "backward" ? BackwardOf(input, pulled) : nullptr;
  }

 private:
  using Batches = std::vector<std::shared_ptr<PulledBatch>>;

  Call BackwardOf(const BagsInput& input, const Batches& pulled) {
    auto bags = std::make_shared<std::vector<std::unique_ptr<PooledBags>>>();
    std::vector<float> out(static_cast<size_t>(outputs_));
    for (const auto& batch : pulled) bags->push_back(PooledBags::Of(batch, input, out));
    return [this, bags] {
      const PooledBags& of = *(*bags)[next_++ % kBatches];
      const size_t values = of.unique_keys().size() * static_cast<size_t>(shape_.dim);
      const auto gradients = std::make_unique_for_overwrite<float[]>(values);
      of.Backward(out_gradient_, GradientScale::kNone, {gradients.get(), values});
    };
  }

  const Batches& Pulled(const std::string& keys) {
    Batches& batches = pulled_[keys];
    if (!batches.empty()) return batches;
    KeySource source = *KeySource::Named(keys, shape_.rows, shape_.seed);
    for (size_t i = 0; i < kBatches; ++i) {
      batches.push_back(OrExit(table_.PullBatch(source.Draw(shape_.batch), std::nullopt), keys));
    }
    return batches;
  }

  void CopyRowsOfKeys() {
    constexpr size_t kArray = size_t{256} << 20;
    from_.resize(kArray);
    to_.resize(kArray);
    const auto bytes = static_cast<size_t>(shape_.batch * shape_.dim * 4);
    if (copied_ + bytes > kArray) copied_ = 0;
    std::memcpy(to_.data() + copied_, from_.data() + copied_, bytes);
    copied_ += bytes;
  }

  const Shape shape_;
  const Table table_;
  const int64_t outputs_;
  const std::vector<float> out_gradient_;
  std::vector<int64_t> offsets_;
  std::map<std::string, Batches> pulled_;
  size_t next_ = 0;
  std::vector<char> from_;
  std::vector<char> to_;
  size_t copied_ = 0;
};

int Main(int argc, char** argv) {
  const std::string tcp = Argument(argc, argv, "tcp");
  if (tcp.empty()) {
    std::fprintf(stderr, "usage: pooling_bench --tcp HOST:PORT [--rows=N] [--dim=N] [--batch=N]\n");
    return 2;
  }
  Bench bench(Shape::Of(argc, argv), ConnectTo(tcp));
  return ServeRounds([&](const std::string& operation) { return bench.Find(operation); });
}

}  // namespace
}  // namespace hotrow::bench

int main(int argc, char** argv) { return hotrow::bench::Main(argc, argv); }
