// How fast does a table apply gradients, in process, on one core?
//
// Rounds on command (command_loop.h), M looked-up rows/s; bench/row_update.py interleaves them with
// torch and FBGEMM. Operations:
//
//   update:OPTIMIZER:KEYS   a batch of keys and gradients as a push brings them: repeated keys are
//                           summed, rows are found, the optimizer runs on them
//   step:OPTIMIZER:KEYS     a training step of bags of 20: unique keys, rows found and copied,
//                           pooled (sum), the bags' gradients summed per row, and the update
//   limit                   memcpy of three rows a key: read a row, read a gradient, write a row
//
//   row_update_bench --rows=N --dim=N --batch=N   also: --checksum=KEYS prints the sum of the keys

#include <cstring>
#include <map>
#include <memory>
#include <sstream>

#include "bench/command_loop.h"
#include "kernels/base/memory_budget.h"
#include "kernels/dedupe/dedupe.h"
#include "kernels/pooling/pooling.h"
#include "server/table/row_batch.h"
#include "server/table/table.h"

namespace hotrow::bench {
namespace {

constexpr int64_t kBagSize = 20;
constexpr size_t kBatches = 16;
constexpr float kLearningRate = 0.05F;
constexpr int64_t kFillRows = 8192;

// The keys and gradients of a push, as they lie in a received message.
wire::PayloadBuffer PushBuffer(std::span<const Key> keys, int64_t dim) {
  wire::PayloadBuffer buffer(keys.size() * (sizeof(Key) + static_cast<size_t>(dim) * 4));
  std::memcpy(buffer.bytes().data(), keys.data(), keys.size_bytes());
  return buffer;
}

float* GradientsOf(wire::PayloadBuffer& buffer, std::span<const Key> keys) {
  return reinterpret_cast<float*>(buffer.bytes().data() + keys.size_bytes());
}

wire::Payload Received(wire::PayloadBuffer buffer) {
  const size_t size = buffer.bytes().size();
  return wire::Payload({std::move(buffer).Release()}, 0, size);
}

void FillGradients(float* gradients, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    gradients[i] = static_cast<float>(MixKey(static_cast<uint64_t>(i)) % 2001) / 1e5F - 0.01F;
  }
}

OptimizerOptions OptimizerNamed(const std::string& name) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                   OptimizerKind::kRowwiseAdagrad, OptimizerKind::kAdam}) {
    if (OptimizerName(kind) == name) return {.kind = kind, .eps = 1e-8F};
  }
  std::fprintf(stderr, "no optimizer %s\n", name.c_str());
  std::exit(2);
}

void OrExit(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

// One table that stores the keys 0 .. rows-1.
class Updated {
 public:
  Updated(const std::string& optimizer, const Shape& shape)
      : shape_(shape), budget_(int64_t{16} << 30) {
    TableOptions options;
    options.name = optimizer;
    options.table_salt = 7;
    options.dim = shape.dim;
    options.optimizer = OptimizerNamed(optimizer);
    options.initializer = {InitializerKind::kUniform, -0.05F, 0.05F, 7, 1};
    options.gradient_bound = 1e6F;
    table_ = *Table::Create(std::move(options), {budget_}, workspace_);
    for (int64_t begin = 0; begin < shape.rows; begin += kFillRows) {
      std::vector<Key> keys(static_cast<size_t>(std::min(kFillRows, shape.rows - begin)));
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<Key>(begin) + i;
      wire::PayloadBuffer buffer = PushBuffer(keys, shape.dim);
      FillGradients(GradientsOf(buffer, keys), static_cast<int64_t>(keys.size()) * shape.dim);
      Push(Received(std::move(buffer)), keys.size());
    }
  }

  void Push(const wire::Payload& payload, size_t keys) {
    const wire::SubPushTable part{.table_id = 1,
                                  .key_count = static_cast<uint32_t>(keys),
                                  .dim = static_cast<uint32_t>(shape_.dim),
                                  .step = ++step_,
                                  .learning_rate = kLearningRate};
    batch_.Append(payload, 0, part, Duplicates::kSum);
    OrExit(table_->Resolve(batch_));
    table_->ApplyPush(batch_);
    batch_.Clear();
  }

  // Forward, backward and update of bags of kBagSize keys.
  void Train(std::span<const Key> keys, const float* out_gradient) {
    deduper_.Run(keys);
    const std::span<const Key> unique = deduper_.unique();
    const auto dim = static_cast<size_t>(shape_.dim);
    rows_.resize(std::max(rows_.size(), unique.size() * dim));
    targets_.clear();
    for (size_t i = 0; i < unique.size(); ++i)
      targets_.push_back(AsRow(static_cast<void*>(&rows_[i * dim])));
    OrExit(table_->Pull(unique, targets_, ReadKind::kTraining).status());
    const BagsView bags{PoolingMode::kSum, Offsets(keys.size()), deduper_.inverse(), {}};
    out_.resize(keys.size() / kBagSize * dim);
    sources_.assign(targets_.begin(), targets_.end());
    PoolForward(bags, {sources_, shape_.dim}, out_.data(), {});
    wire::PayloadBuffer buffer = PushBuffer(unique, shape_.dim);
    const PoolGradient gradient{
        out_gradient, shape_.dim, {}, {}, static_cast<int64_t>(unique.size())};
    PoolBackward(bags, gradient, GradientsOf(buffer, unique));
    Push(Received(std::move(buffer)), unique.size());
  }

 private:
  std::span<const int64_t> Offsets(size_t keys) {
    offsets_.clear();
    for (size_t at = 0; at <= keys; at += kBagSize) offsets_.push_back(static_cast<int64_t>(at));
    return offsets_;
  }

  const Shape shape_;
  MemoryBudget budget_;
  TableWorkspace workspace_;
  std::unique_ptr<Table> table_;
  RowBatch batch_;
  uint64_t step_ = 0;
  Deduper deduper_;
  std::vector<float> rows_;
  std::vector<RowPointer> targets_;
  std::vector<ConstRowPointer> sources_;
  std::vector<int64_t> offsets_;
  std::vector<float> out_;
};

// The batches of one distribution.
struct Batches {
  std::vector<std::vector<Key>> keys;
  std::vector<wire::Payload> pushes;

  Batches(const std::string& name, const Shape& shape) {
    KeySource source = *KeySource::Named(name, shape.rows, shape.seed);
    for (size_t i = 0; i < kBatches; ++i) {
      keys.push_back(source.Draw(shape.batch));
      wire::PayloadBuffer buffer = PushBuffer(keys.back(), shape.dim);
      FillGradients(GradientsOf(buffer, keys.back()), shape.batch * shape.dim);
      pushes.push_back(Received(std::move(buffer)));
    }
  }
};

class Bench {
 public:
  explicit Bench(const Shape& shape)
      : shape_(shape), out_gradient_(static_cast<size_t>(shape.batch / kBagSize * shape.dim)) {
    FillGradients(out_gradient_.data(), static_cast<int64_t>(out_gradient_.size()));
  }

  Call Find(const std::string& operation) {
    if (operation == "limit") return [this] { CopyThreeRowsAKey(); };
    std::istringstream in(operation);
    std::string what, optimizer, keys;
    std::getline(in, what, ':');
    std::getline(in, optimizer, ':');
    std::getline(in, keys);
    Updated& table = Of(tables_, optimizer);
    const Batches& batches = Of(batches_, keys);
    if (what == "update") {
      return [this, &table, &batches] {
        const size_t i = next_++ % kBatches;
        table.Push(batches.pushes[i], batches.keys[i].size());
      };
    }
    if (what != "step" || shape_.batch % kBagSize != 0) return nullptr;
    return [this, &table, &batches] {
      table.Train(batches.keys[next_++ % kBatches], out_gradient_.data());
    };
  }

 private:
  template <typename T>
  T& Of(std::map<std::string, std::unique_ptr<T>>& known, const std::string& name) {
    std::unique_ptr<T>& made = known[name];
    if (made == nullptr) made = std::make_unique<T>(name, shape_);
    return *made;
  }

  // From memory to memory, other bytes each time.
  void CopyThreeRowsAKey() {
    constexpr size_t kArray = size_t{256} << 20;
    from_.resize(kArray);
    to_.resize(kArray);
    const auto bytes = static_cast<size_t>(3 * shape_.batch * shape_.dim * 4) / 2;
    if (copied_ + bytes > kArray) copied_ = 0;
    std::memcpy(to_.data() + copied_, from_.data() + copied_, bytes);  // read and written
    copied_ += bytes;
  }

  const Shape shape_;
  std::map<std::string, std::unique_ptr<Updated>> tables_;
  std::map<std::string, std::unique_ptr<Batches>> batches_;
  std::vector<float> out_gradient_;  // (bags, dim)
  size_t next_ = 0;
  std::vector<char> from_;
  std::vector<char> to_;
  size_t copied_ = 0;
};

int Main(int argc, char** argv) {
  const Shape shape = Shape::Of(argc, argv);
  const std::string checksum = "--checksum=";
  if (argc > 1 && std::string(argv[argc - 1]).rfind(checksum, 0) == 0) {
    auto source = KeySource::Named(argv[argc - 1] + checksum.size(), shape.rows, shape.seed);
    if (!source) return 2;
    uint64_t sum = 0;
    for (const Key key : source->Draw(shape.batch)) sum = MixKey(sum ^ key);
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
    return 0;
  }
  Bench bench(shape);
  return ServeRounds([&](const std::string& operation) { return bench.Find(operation); });
}

}  // namespace
}  // namespace hotrow::bench

int main(int argc, char** argv) { return hotrow::bench::Main(argc, argv); }
