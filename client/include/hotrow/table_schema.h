// TableSchema: what a user says about a table. A plain value, independent of the wire.
//
// Thread safety: a value. Errors: Client::CreateTable validates it before any call.

#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace hotrow {

// w -= lr * g.
struct Sgd {
  float lr = 0.01F;
};
// h += g*g; w -= lr * g / (sqrt(h) + eps).
struct Adagrad {
  float lr = 0.01F;
  float eps = 1e-10F;
  float initial_accumulator_value = 0.0F;
};
// h += mean(g*g); w -= lr * g / (sqrt(h) + eps).
struct RowwiseAdagrad {
  float lr = 0.01F;
  float eps = 1e-8F;
  float initial_accumulator_value = 0.0F;
};
// Lazy Adam: torch.optim.SparseAdam.
struct Adam {
  float lr = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float eps = 1e-8F;
};
using Optimizer = std::variant<Sgd, Adagrad, RowwiseAdagrad, Adam>;

struct Zeros {};
struct Constant {
  float value = 0.0F;
};
struct Uniform {
  float low = 0.0F;   // inclusive
  float high = 1.0F;  // exclusive
};
struct Normal {
  float mean = 0.0F;
  float standard_deviation = 1.0F;
};
using InitializerSpec = std::variant<Zeros, Constant, Uniform, Normal>;

enum class Durability : uint8_t { kMemory = 1, kProcess = 2, kDisk = 3 };

struct TableSchema {
  std::string name = {};  // [A-Za-z0-9_.:/-]{1,128}
  int64_t dim = 0;        // 1 .. 65536
  Optimizer optimizer = Sgd{};
  InitializerSpec initializer = Zeros{};
  uint64_t seed = 0;
  uint64_t num_embeddings = 0;  // 0: open table, any 64-bit key
  float gradient_bound = 1e15F;
  Durability durability = Durability::kMemory;
};

}  // namespace hotrow
