// TableSchema: what a user says about a table. A plain value, independent of the wire.
//
// Thread safety: a value. Errors: Client::CreateTable validates it before any call.

#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace hotrow {

// Stochastic gradient descent: w -= lr * g, touched rows only (torch.optim.SGD without momentum).
struct Sgd {
  float lr = 0.01F;  // 0 .. 1e15; the default rate of a push
};
// Adagrad (Duchi, Hazan, Singer 2011; torch.optim.Adagrad), element by element:
//   h += g*g; w -= lr * g / (sqrt(h) + eps)
// One float of state per weight.
struct Adagrad {
  float lr = 0.01F;                        // 0 .. 1e15
  float eps = 1e-10F;                      // finite, >= 0; > 0 when the accumulator starts at 0
  float initial_accumulator_value = 0.0F;  // of h; finite, >= 0
};
// Row-wise Adagrad (FBGEMM's EXACT_ROWWISE_ADAGRAD), one h for the whole row:
//   h += mean(g*g); w -= lr * g / (sqrt(h) + eps)
// One float of state per row: the cheapest adaptive rule for wide rows.
struct RowwiseAdagrad {
  float lr = 0.01F;                        // 0 .. 1e15
  float eps = 1e-8F;                       // finite, >= 0; > 0 when the accumulator starts at 0
  float initial_accumulator_value = 0.0F;  // of h; finite, >= 0
};
// Lazy Adam (Kingma, Ba 2015; torch.optim.SparseAdam): moments of touched rows only, bias corrected
// by the step that the push carries. Two floats of state per weight.
struct Adam {
  float lr = 1e-3F;      // 0 .. 1e15
  float beta1 = 0.9F;    // of the first moment, 0 <= beta1 < 1
  float beta2 = 0.999F;  // of the second moment, 0 <= beta2 < 1
  float eps = 1e-8F;     // finite, > 0
};
// How a table's rows change. Fixed with the table.
using Optimizer = std::variant<Sgd, Adagrad, RowwiseAdagrad, Adam>;

// Initial values: what a key that no push has touched answers. A pure function of (table name,
// seed, key, column), the same bits everywhere.
struct Zeros {};
struct Constant {
  float value = 0.0F;  // finite
};
struct Uniform {
  float low = 0.0F;   // inclusive
  float high = 1.0F;  // exclusive
};
struct Normal {
  float mean = 0.0F;                // finite
  float standard_deviation = 1.0F;  // finite, >= 0
};
using InitializerSpec = std::variant<Zeros, Constant, Uniform, Normal>;

// Which rows leave fast memory first, for a lower tier of their shard. Where there is none nothing
// leaves, and new keys are refused when memory is full.
struct Lru {};  // that was used longest ago
struct Lfu {    // that has the fewest uses, each worth `decay` times as much a training step later
  float decay = 1.0F;  // 0 < decay <= 1
};
struct NoEviction {};  // none leaves: new keys are refused when fast memory is full
using Eviction = std::variant<Lru, Lfu, NoEviction>;

// What an acknowledged push survives: nothing, kill -9 of the server, loss of power. This version
// offers kMemory and refuses the others by name.
enum class Durability : uint8_t { kMemory = 1, kProcess = 2, kDisk = 3 };

// Two tables are the same when all fields are.
struct TableSchema {
  std::string name = {};  // [A-Za-z0-9_.:/-]{1,128}
  int64_t dim = 0;        // 1 .. 65536
  Optimizer optimizer = Sgd{};
  InitializerSpec initializer = Zeros{};
  uint64_t seed = 0;             // of the initial values
  uint64_t num_embeddings = 0;   // 0: open table, any 64-bit key
  float gradient_bound = 1e15F;  // |g| after summing duplicates; > 0, <= 1e15
  Durability durability = Durability::kMemory;
  Eviction eviction = Lru{};
};

}  // namespace hotrow
