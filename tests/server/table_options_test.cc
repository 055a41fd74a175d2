// Schemas: defaults, refusals by name, and the first difference of two.

#include "server/table/table_options.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "hotrow/v1/table.pb.h"
#include "proto/wire/hashes.h"
#include "proto/wire/status_codec.h"
#include "server/table/schema_difference.h"
#include "tests/server/shard_harness.h"

namespace hotrow::test {
namespace {

using Change = std::function<void(v1::TableSchema*)>;

wire::ErrorInfo ErrorAfter(const Change& change) {
  v1::TableSchema schema = AdagradSchema("t", 8);
  change(&schema);
  const auto options = TableOptions::FromSchema(schema);
  return options.ok() ? wire::ErrorInfo{} : wire::FromStatus(options.status());
}

void ExpectRefused(const Change& change, wire::ErrorKind kind, const std::string& words) {
  const wire::ErrorInfo error = ErrorAfter(change);
  EXPECT_EQ(error.kind, kind) << words;
  EXPECT_NE(error.message.find(words), std::string::npos)
      << "'" << words << "' is not in '" << error.message << "'";
  EXPECT_EQ(error.hint.empty(), kind != wire::ErrorKind::kUnimplemented) << words;
}

TEST(TableOptions, HoldWhatTheSchemaSays) {
  v1::TableSchema schema = AdagradSchema("user", 8);
  schema.mutable_optimizer()->mutable_adagrad()->set_initial_accumulator_value(0.25F);
  schema.mutable_initializer()->mutable_uniform()->set_low(-0.5F);
  schema.mutable_initializer()->mutable_uniform()->set_high(0.5F);
  schema.set_seed(9);
  schema.set_num_embeddings(100);
  const auto options = TableOptions::FromSchema(schema);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->table_salt, wire::TableSalt("user"));
  EXPECT_EQ(options->dim, 8);
  EXPECT_EQ(options->optimizer.kind, OptimizerKind::kAdagrad);
  EXPECT_EQ(options->optimizer.initial_accumulator, 0.25F);
  EXPECT_EQ(options->default_learning_rate, 0.1F);
  EXPECT_EQ(options->initializer.kind, InitializerKind::kUniform);
  EXPECT_EQ(options->initializer.a, -0.5F);
  EXPECT_EQ(options->initializer.b, 0.5F);
  EXPECT_EQ(options->initializer.seed, 9U);
  EXPECT_EQ(options->initializer.table_salt, options->table_salt);
  EXPECT_EQ(options->num_embeddings, 100U);
  EXPECT_EQ(options->gradient_bound, 1e15F);
}

TEST(TableOptions, TakeEveryLegalName) {
  using Names = std::vector<std::string>;
  for (const std::string& name : Names{"a", "A-z_0.9:/x", std::string(128, 'n')}) {
    EXPECT_TRUE(TableOptions::FromSchema(SgdSchema(name, 1)).ok()) << name;
  }
  for (const std::string& name : Names{"", "a b", "t\n", "é", std::string(129, 'n')}) {
    EXPECT_EQ(KindOf(TableOptions::FromSchema(SgdSchema(name, 1)).status()),
              wire::ErrorKind::kInvalidArgument)
        << name;
  }
}

TEST(TableOptions, RefuseMalformedNumbersByName) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto invalid = wire::ErrorKind::kInvalidArgument;
  ExpectRefused([](auto* s) { s->set_dim(0); }, invalid, "dim");
  ExpectRefused([](auto* s) { s->set_dim(65537); }, invalid, "dim");
  ExpectRefused([](auto* s) { s->set_gradient_bound(-1.0F); }, invalid, "gradient_bound");
  ExpectRefused([](auto* s) { s->set_gradient_bound(kNan); }, invalid, "gradient_bound");
  ExpectRefused([](auto* s) { s->set_gradient_bound(2e15F); }, invalid, "gradient_bound");
  EXPECT_EQ(ErrorAfter([](auto* s) { s->clear_optimizer(); }).kind, invalid);
  ExpectRefused([](auto* s) { s->mutable_optimizer()->mutable_adagrad()->set_lr(-1.0F); }, invalid,
                "lr");
  ExpectRefused([](auto* s) { s->mutable_optimizer()->mutable_adagrad()->set_lr(kNan); }, invalid,
                "lr");
  ExpectRefused([](auto* s) { s->mutable_optimizer()->mutable_adagrad()->set_eps(-1.0F); }, invalid,
                "eps");
  ExpectRefused([](auto* s) { s->mutable_optimizer()->mutable_adam()->set_beta1(1.0F); }, invalid,
                "beta1");
  ExpectRefused([](auto* s) { s->mutable_initializer()->mutable_constant()->set_value(kNan); },
                invalid, "table 't'");
  ExpectRefused([](auto* s) { s->mutable_initializer()->mutable_uniform()->set_high(-1.0F); },
                invalid, "table 't'");
}

TEST(TableOptions, RefuseWhatThisVersionLacksByFieldAndValue) {
  const auto lacks = wire::ErrorKind::kUnimplemented;
  const auto optimizer = [](auto* s) { return s->mutable_optimizer(); };
  ExpectRefused([](auto* s) { s->set_data_type(v1::DATA_TYPE_FLOAT16); }, lacks,
                "data_type = DATA_TYPE_FLOAT16");
  ExpectRefused([](auto* s) { s->set_data_type(static_cast<v1::DataType>(77)); }, lacks,
                "data_type = 77");
  ExpectRefused([](auto* s) { s->set_state_data_type(v1::DATA_TYPE_BFLOAT16); }, lacks,
                "state_data_type = DATA_TYPE_BFLOAT16");
  ExpectRefused([](auto* s) { s->set_durability(v1::DURABILITY_CLASS_PROCESS); }, lacks,
                "durability = DURABILITY_CLASS_PROCESS");
  ExpectRefused([](auto* s) { s->set_durability(v1::DURABILITY_CLASS_DISK); }, lacks,
                "durability = DURABILITY_CLASS_DISK");
  ExpectRefused([&](auto* s) { optimizer(s)->mutable_ftrl(); }, lacks, "optimizer = ftrl");
  ExpectRefused([&](auto* s) { optimizer(s)->mutable_sgd()->set_momentum(0.9F); }, lacks,
                "momentum = 0.9");
  ExpectRefused([&](auto* s) { optimizer(s)->mutable_adagrad()->set_lr_decay(0.5F); }, lacks,
                "lr_decay = 0.5");
  ExpectRefused([&](auto* s) { optimizer(s)->set_weight_decay(0.25F); }, lacks,
                "weight_decay = 0.25");
  ExpectRefused(
      [&](auto* s) { optimizer(s)->set_weight_decay_mode(v1::Optimizer::WEIGHT_DECAY_MODE_L2); },
      lacks, "weight_decay_mode = WEIGHT_DECAY_MODE_L2");
  ExpectRefused(
      [&](auto* s) {
        optimizer(s)->mutable_adam()->set_bias_correction(v1::Optimizer::BIAS_CORRECTION_ROW);
      },
      lacks, "bias_correction = BIAS_CORRECTION_ROW");
  ExpectRefused([](auto* s) { s->mutable_admission()->mutable_count(); }, lacks, "= count");
  ExpectRefused([](auto* s) { s->mutable_admission()->mutable_probability(); }, lacks,
                "= probability");
  ExpectRefused([](auto* s) { s->mutable_eviction()->mutable_time_to_live(); }, lacks,
                "= time_to_live");
  ExpectRefused([](auto* s) { s->mutable_tier_shares()->mutable_hot()->set_minimum_bytes(1); },
                lacks, "tier_shares.hot");
  ExpectRefused([](auto* s) { s->mutable_tier_shares()->mutable_warm()->set_maximum_bytes(1); },
                lacks, "tier_shares.warm");
  ExpectRefused([](auto* s) { s->mutable_tier_shares()->mutable_cold()->set_maximum_bytes(1); },
                lacks, "tier_shares.cold");
}

TEST(TableOptions, TakeThePolicyOfEviction) {
  v1::TableSchema schema = AdagradSchema("t", 8);
  EXPECT_EQ(TableOptions::FromSchema(schema)->eviction, EvictionKind::kLru);
  schema.mutable_eviction()->mutable_none();
  EXPECT_EQ(TableOptions::FromSchema(schema)->eviction, EvictionKind::kNone);
  schema.mutable_eviction()->mutable_lfu();
  EXPECT_EQ(TableOptions::FromSchema(schema)->eviction, EvictionKind::kLfu);
  EXPECT_EQ(TableOptions::FromSchema(schema)->eviction_decay, 1.0);
  schema.mutable_eviction()->mutable_lfu()->set_decay(0.5F);
  EXPECT_EQ(TableOptions::FromSchema(schema)->eviction_decay, 0.5);
  for (const float decay : {-1.0F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
    ExpectRefused([&](auto* s) { s->mutable_eviction()->mutable_lfu()->set_decay(decay); },
                  wire::ErrorKind::kInvalidArgument, "the decay of lfu");
  }
}

TEST(NormalizedSchema, MakesUnsetAndDefaultFieldsEqual) {
  v1::TableSchema spelled = AdagradSchema("t", 8);
  spelled.set_data_type(v1::DATA_TYPE_FLOAT32);
  spelled.set_state_data_type(v1::DATA_TYPE_FLOAT32);
  spelled.set_durability(v1::DURABILITY_CLASS_MEMORY);
  spelled.set_gradient_bound(1e15F);
  spelled.mutable_initializer()->mutable_zeros();
  spelled.mutable_admission()->mutable_always();
  spelled.mutable_eviction()->mutable_lru();
  spelled.mutable_tier_shares()->mutable_hot();
  spelled.mutable_optimizer()->set_weight_decay_mode(v1::Optimizer::WEIGHT_DECAY_MODE_NONE);
  const auto a = NormalizedSchema(spelled);
  const auto b = NormalizedSchema(AdagradSchema("t", 8));
  EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
  EXPECT_FALSE(FirstDifference(a, b).has_value());
  EXPECT_EQ(NormalizedSchema(a).SerializeAsString(), a.SerializeAsString());
}

TEST(SchemaDifference, NamesTheFirstFieldWithBothValues) {
  const auto base = NormalizedSchema(AdagradSchema("t", 8));
  auto other = base;
  other.mutable_optimizer()->mutable_adagrad()->set_eps(0.5F);
  other.set_seed(3);
  const auto difference = FirstDifference(base, other);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->field, "optimizer.adagrad.eps");
  EXPECT_EQ(difference->of_first, "1e-10");
  EXPECT_EQ(difference->of_second, "0.5");
  const auto choice = FirstDifference(base, NormalizedSchema(SgdSchema("t", 8)));
  EXPECT_EQ(choice->field, "optimizer");
  EXPECT_EQ(choice->of_first.rfind("adagrad {lr: ", 0), 0U) << choice->of_first;
  EXPECT_EQ(choice->of_second.rfind("sgd {lr: ", 0), 0U) << choice->of_second;
  auto wide = base;
  wide.set_dim(9);
  EXPECT_EQ(FirstDifference(base, wide)->of_second, "9");
}

}  // namespace
}  // namespace hotrow::test
