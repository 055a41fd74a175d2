// Random operations on a shard against a map and scalar arithmetic, bit for bit, for every
// optimizer.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "tests/server/shard_harness.h"
#include "tests/server/test_values.h"

namespace hotrow::test {
namespace {

constexpr uint32_t kDim = 5;
constexpr float kEps = 1e-8F;

struct ModelRow {
  std::vector<float> weights = std::vector<float>(kDim, 0.25F);
  std::vector<float> state = std::vector<float>(2 * kDim, 0.0F);
};

using Rule = void (*)(const TablePart& step, const float* g, ModelRow* row);

void SgdRule(const TablePart& step, const float* g, ModelRow* row) {
  for (uint32_t c = 0; c < kDim; ++c) row->weights[c] -= step.learning_rate * g[c];
}

void AdagradRule(const TablePart& step, const float* g, ModelRow* row) {
  for (uint32_t c = 0; c < kDim; ++c) {
    row->state[c] += g[c] * g[c];
    row->weights[c] -= step.learning_rate * g[c] / (std::sqrt(row->state[c]) + kEps);
  }
}

void RowwiseAdagradRule(const TablePart& step, const float* g, ModelRow* row) {
  // 32 strided partial sums and a fixed tree: for 5 columns ((0 + 4) + 2) + (1 + 3) or the like is
  // decided by the tree, which adds the upper half to the lower: 16, 8, 4, 2, 1.
  float sums[32] = {};
  for (uint32_t c = 0; c < kDim; ++c) sums[c % 32] += g[c] * g[c];
  for (int half = 16; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  row->state[0] += sums[0] / static_cast<float>(kDim);
  const float rate = step.learning_rate / (std::sqrt(row->state[0]) + kEps);
  for (uint32_t c = 0; c < kDim; ++c) row->weights[c] -= rate * g[c];
}

void AdamRule(const TablePart& step, const float* g, ModelRow* row) {
  // beta1 = 0.5, beta2 = 0.75 and powers of two as rates: exact in binary and in decimal.
  const double correction1 = 1.0 - std::pow(0.5, static_cast<double>(step.step));
  const double correction2 = 1.0 - std::pow(0.75, static_cast<double>(step.step));
  const auto size = static_cast<float>(step.learning_rate * std::sqrt(correction2) / correction1);
  for (uint32_t c = 0; c < kDim; ++c) {
    float& m = row->state[c];
    float& v = row->state[kDim + c];
    m += 0.5F * (g[c] - m);
    v += 0.25F * (g[c] * g[c] - v);
    row->weights[c] -= size * (m / (std::sqrt(v) + kEps));
  }
}

v1::TableSchema SchemaOf(const std::string& optimizer) {
  v1::TableSchema schema;
  schema.set_name("model");
  schema.set_dim(kDim);
  schema.mutable_initializer()->mutable_constant()->set_value(0.25F);
  if (optimizer == "sgd") schema.mutable_optimizer()->mutable_sgd();
  if (optimizer == "adagrad") schema.mutable_optimizer()->mutable_adagrad()->set_eps(kEps);
  if (optimizer == "rowwise_adagrad") {
    schema.mutable_optimizer()->mutable_rowwise_adagrad()->set_eps(kEps);
  }
  if (optimizer == "adam") {
    auto* adam = schema.mutable_optimizer()->mutable_adam();
    adam->set_beta1(0.5F);
    adam->set_beta2(0.75F);
    adam->set_eps(kEps);
  }
  return schema;
}

struct ModelCase {
  std::string optimizer;
  Rule rule;
};

class ShardModel : public testing::TestWithParam<ModelCase> {
 protected:
  static constexpr uint64_t kKeys = 300;

  TablePart RandomPart(bool with_rows) {
    TablePart part = one_.Part({}, {});
    const uint64_t count = random_() % 120;
    for (uint64_t i = 0; i < count; ++i) {
      part.keys.push_back(MixKey(random_() % kKeys));
      for (uint32_t c = 0; with_rows && c < kDim; ++c) {
        part.rows.push_back(MixedValue(random_(), c));
      }
    }
    part.dim = with_rows ? kDim : 0;
    part.step = 1 + random_() % 50;
    part.learning_rate = 1.0F / static_cast<float>(1 << (random_() % 6));
    return part;
  }

  void PushOnModel(const TablePart& part) {
    std::map<Key, std::vector<float>> sums;  // at most 120 of a key: one block
    for (size_t i = 0; i < part.keys.size(); ++i) {
      auto [sum, fresh] = sums.try_emplace(part.keys[i], kDim);
      for (uint32_t c = 0; c < kDim; ++c) {
        const float g = part.rows[i * kDim + c];
        sum->second[c] = fresh ? g : sum->second[c] + g;
      }
    }
    for (const auto& [key, sum] : sums) GetParam().rule(part, sum.data(), &model_[key]);
  }

  void OnModel(wire::Operation operation, const TablePart& part) {
    if (operation == wire::Operation::kPush) return PushOnModel(part);
    for (size_t i = 0; i < part.keys.size(); ++i) {
      model_.erase(part.keys[i]);
      if (operation == wire::Operation::kRemove) continue;
      const auto row = part.rows.begin() + static_cast<int64_t>(i * kDim);
      model_[part.keys[i]].weights.assign(row, row + kDim);
    }
  }

  // One message of one or two operations, whose sub-pushes are interleaved by partition order.
  void RandomMessage() {
    std::vector<FrozenSubPush> sub_pushes;
    const uint64_t operations = 1 + random_() % 2;
    for (uint64_t i = 0; i < operations; ++i) {
      const uint64_t dice = random_() % 10;
      const auto operation = dice < 7   ? wire::Operation::kPush
                             : dice < 9 ? wire::Operation::kUpsert
                                        : wire::Operation::kRemove;
      const TablePart part = RandomPart(operation != wire::Operation::kRemove);
      OnModel(operation, part);
      for (const auto& [partition, share] :
           ByPartition(part, one_.map(), wire::TableSalt("model"))) {
        sub_pushes.push_back(Freeze(partition, ++next_[partition], operation, {share}));
      }
    }
    const auto response =
        PushNow(one_.shard(), Message(one_.session(), sub_pushes, 13 + random_() % 300));
    for (const auto& result : response.results) {
      ASSERT_EQ(result.outcome, wire::Outcome::kApplied) << result.error.message;
    }
  }

  void ExpectEqual() {
    ASSERT_EQ(one_.Stats().rows(), model_.size());
    std::vector<Key> keys;
    for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(MixKey(i));
    const auto rows = one_.Pull(keys);
    for (uint64_t i = 0; i < kKeys; ++i) {
      const auto found = model_.find(keys[i]);
      const ModelRow row = found == model_.end() ? ModelRow{} : found->second;
      ASSERT_EQ(std::memcmp(row.weights.data(), &rows[i * kDim], kDim * sizeof(float)), 0)
          << "row " << i << ": " << row.weights[0] << " != " << rows[i * kDim];
    }
  }

  OneTable one_{SchemaOf(GetParam().optimizer), {.partitions = 8}};
  std::mt19937_64 random_;
  std::map<uint32_t, uint64_t> next_;
  std::map<Key, ModelRow> model_;
};

TEST_P(ShardModel, EqualsScalarArithmeticBitForBit) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  random_.seed(seed);
  for (int message = 0; message < 150; ++message) {
    ASSERT_NO_FATAL_FAILURE(RandomMessage());
    ASSERT_NO_FATAL_FAILURE(ExpectEqual()) << "after message " << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ShardModel,
                         testing::Values(ModelCase{"sgd", SgdRule},
                                         ModelCase{"adagrad", AdagradRule},
                                         ModelCase{"rowwise_adagrad", RowwiseAdagradRule},
                                         ModelCase{"adam", AdamRule}),
                         [](const auto& info) { return info.param.optimizer; });

}  // namespace
}  // namespace hotrow::test
