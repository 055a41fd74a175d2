#include "client/src/schema.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "kernels/initializers/initializer.h"
#include "kernels/optimizers/row_optimizer.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

OptimizerOptions KernelOptions(const Optimizer& optimizer) {
  return std::visit(
      Overloaded{
          [](const Sgd&) { return OptimizerOptions{.kind = OptimizerKind::kSgd}; },
          [](const Adagrad& o) {
            return OptimizerOptions{.kind = OptimizerKind::kAdagrad,
                                    .eps = o.eps,
                                    .initial_accumulator = o.initial_accumulator_value};
          },
          [](const RowwiseAdagrad& o) {
            return OptimizerOptions{.kind = OptimizerKind::kRowwiseAdagrad,
                                    .eps = o.eps,
                                    .initial_accumulator = o.initial_accumulator_value};
          },
          [](const Adam& o) {
            return OptimizerOptions{
                .kind = OptimizerKind::kAdam, .eps = o.eps, .beta1 = o.beta1, .beta2 = o.beta2};
          }},
      optimizer);
}

Initializer KernelInitializer(const InitializerSpec& spec) {
  return std::visit(
      Overloaded{[](const Zeros&) { return Initializer{}; },
                 [](const Constant& i) {
                   return Initializer{.kind = InitializerKind::kConstant, .a = i.value};
                 },
                 [](const Uniform& i) {
                   return Initializer{.kind = InitializerKind::kUniform, .a = i.low, .b = i.high};
                 },
                 [](const Normal& i) {
                   return Initializer{
                       .kind = InitializerKind::kNormal, .a = i.mean, .b = i.standard_deviation};
                 }},
      spec);
}

void OptimizerToProto(const Optimizer& optimizer, v1::Optimizer* proto) {
  std::visit(
      Overloaded{
          [&](const Sgd& o) { proto->mutable_sgd()->set_lr(o.lr); },
          [&](const Adagrad& o) {
            proto->mutable_adagrad()->set_lr(o.lr);
            proto->mutable_adagrad()->set_eps(o.eps);
            proto->mutable_adagrad()->set_initial_accumulator_value(o.initial_accumulator_value);
          },
          [&](const RowwiseAdagrad& o) {
            proto->mutable_rowwise_adagrad()->set_lr(o.lr);
            proto->mutable_rowwise_adagrad()->set_eps(o.eps);
            proto->mutable_rowwise_adagrad()->set_initial_accumulator_value(
                o.initial_accumulator_value);
          },
          [&](const Adam& o) {
            proto->mutable_adam()->set_lr(o.lr);
            proto->mutable_adam()->set_beta1(o.beta1);
            proto->mutable_adam()->set_beta2(o.beta2);
            proto->mutable_adam()->set_eps(o.eps);
            proto->mutable_adam()->set_bias_correction(v1::Optimizer::BIAS_CORRECTION_GLOBAL);
          }},
      optimizer);
  proto->set_weight_decay_mode(v1::Optimizer::WEIGHT_DECAY_MODE_NONE);
}

void InitializerToProto(const InitializerSpec& initializer, v1::Initializer* proto) {
  std::visit(Overloaded{[&](const Zeros&) { proto->mutable_zeros(); },
                        [&](const Constant& i) { proto->mutable_constant()->set_value(i.value); },
                        [&](const Uniform& i) {
                          proto->mutable_uniform()->set_low(i.low);
                          proto->mutable_uniform()->set_high(i.high);
                        },
                        [&](const Normal& i) {
                          proto->mutable_normal()->set_mean(i.mean);
                          proto->mutable_normal()->set_standard_deviation(i.standard_deviation);
                        }},
             initializer);
}

absl::Status UnknownPart(const std::string& table, const char* part) {
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kUnimplemented,
       .message = absl::StrCat("table '", table, "' has ", part, " that this client does not know"),
       .hint = "Use a client of the servers' version.",
       .table = table});
}

absl::StatusOr<Optimizer> OptimizerFromProto(const std::string& table, const v1::Optimizer& proto) {
  switch (proto.kind_case()) {
    case v1::Optimizer::kSgd:
      return Sgd{proto.sgd().lr()};
    case v1::Optimizer::kAdagrad:
      return Adagrad{proto.adagrad().lr(), proto.adagrad().eps(),
                     proto.adagrad().initial_accumulator_value()};
    case v1::Optimizer::kRowwiseAdagrad:
      return RowwiseAdagrad{proto.rowwise_adagrad().lr(), proto.rowwise_adagrad().eps(),
                            proto.rowwise_adagrad().initial_accumulator_value()};
    case v1::Optimizer::kAdam:
      return Adam{proto.adam().lr(), proto.adam().beta1(), proto.adam().beta2(),
                  proto.adam().eps()};
    default:
      return UnknownPart(table, "an optimizer");
  }
}

absl::StatusOr<InitializerSpec> InitializerFromProto(const std::string& table,
                                                     const v1::Initializer& proto) {
  switch (proto.kind_case()) {
    case v1::Initializer::kZeros:
      return Zeros{};
    case v1::Initializer::kConstant:
      return Constant{proto.constant().value()};
    case v1::Initializer::kUniform:
      return Uniform{proto.uniform().low(), proto.uniform().high()};
    case v1::Initializer::kNormal:
      return Normal{proto.normal().mean(), proto.normal().standard_deviation()};
    default:
      return UnknownPart(table, "an initializer");
  }
}

void EvictionToProto(const Eviction& eviction, v1::Eviction* proto) {
  std::visit(Overloaded{[&](const Lru&) { proto->mutable_lru(); },
                        [&](const Lfu& e) { proto->mutable_lfu()->set_decay(e.decay); },
                        [&](const NoEviction&) { proto->mutable_none(); }},
             eviction);
}

absl::StatusOr<Eviction> EvictionFromProto(const std::string& table, const v1::Eviction& proto) {
  switch (proto.kind_case()) {
    case v1::Eviction::kLru:
      return Lru{};
    case v1::Eviction::kLfu:
      return Lfu{proto.lfu().decay()};
    case v1::Eviction::kNone:
      return NoEviction{};
    default:
      return UnknownPart(table, "a policy of eviction");
  }
}

absl::Status Refuse(const TableSchema& schema, const std::string& what) {
  return InvalidInput(schema.name, absl::StrCat("table '", schema.name, "': ", what));
}

v1::TableSchema WithoutRate(v1::TableSchema schema) {
  v1::Optimizer& optimizer = *schema.mutable_optimizer();
  if (optimizer.has_sgd()) optimizer.mutable_sgd()->clear_lr();
  if (optimizer.has_adagrad()) optimizer.mutable_adagrad()->clear_lr();
  if (optimizer.has_rowwise_adagrad()) optimizer.mutable_rowwise_adagrad()->clear_lr();
  if (optimizer.has_adam()) optimizer.mutable_adam()->clear_lr();
  return schema;
}

}  // namespace

absl::Status ValidateTableName(std::string_view name) {
  bool legal = !name.empty() && name.size() <= 128;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    legal &= letter || digit || c == '_' || c == '.' || c == ':' || c == '/' || c == '-';
  }
  if (legal) return absl::OkStatus();
  return InvalidInput(
      "", absl::StrCat("the table name '",
                       absl::CHexEscape({name.data(), std::min<size_t>(name.size(), 128)}),
                       "' is not 1 to 128 of A-Z a-z 0-9 _ . : / -"));
}

absl::Status ValidateSchema(const TableSchema& schema) {
  const absl::Status name = ValidateTableName(schema.name);
  if (!name.ok()) return name;
  if (schema.dim < 1 || schema.dim > wire::kMaxDim) {
    return Refuse(schema, absl::StrCat("dim is ", schema.dim, ", not 1 to ", wire::kMaxDim));
  }
  const float lr = DefaultLearningRate(schema);
  if (!(lr >= 0 && lr <= wire::kMaxLearningRate)) {
    return Refuse(schema, absl::StrCat("the learning rate ", lr, " is not in 0 .. 1e15"));
  }
  if (!(schema.gradient_bound > 0 && schema.gradient_bound <= wire::kMaxGradientBound)) {
    return Refuse(schema, absl::StrCat("gradient_bound ", schema.gradient_bound,
                                       " is not above 0 and at most 1e15"));
  }
  if (const Result result = ValidateOptimizer(KernelOptions(schema.optimizer)); !result.ok()) {
    return Refuse(schema, result.message());
  }
  if (const Result result = ValidateInitializer(KernelInitializer(schema.initializer));
      !result.ok()) {
    return Refuse(schema, result.message());
  }
  const Lfu* const lfu = std::get_if<Lfu>(&schema.eviction);
  if (lfu != nullptr && !(lfu->decay > 0 && lfu->decay <= 1)) {
    return Refuse(schema,
                  absl::StrCat("the decay of lfu is ", lfu->decay, ", not above 0 and at most 1"));
  }
  return absl::OkStatus();
}

float DefaultLearningRate(const TableSchema& schema) {
  return std::visit([](const auto& optimizer) { return optimizer.lr; }, schema.optimizer);
}

v1::TableSchema SchemaToProto(const TableSchema& schema) {
  v1::TableSchema proto;
  proto.set_name(schema.name);
  proto.set_dim(static_cast<uint32_t>(schema.dim));
  proto.set_data_type(v1::DATA_TYPE_FLOAT32);
  proto.set_state_data_type(v1::DATA_TYPE_FLOAT32);
  OptimizerToProto(schema.optimizer, proto.mutable_optimizer());
  InitializerToProto(schema.initializer, proto.mutable_initializer());
  proto.set_seed(schema.seed);
  proto.set_num_embeddings(schema.num_embeddings);
  proto.set_gradient_bound(schema.gradient_bound);
  proto.set_durability(static_cast<v1::DurabilityClass>(schema.durability));
  proto.mutable_admission()->mutable_always();
  EvictionToProto(schema.eviction, proto.mutable_eviction());
  return proto;
}

absl::StatusOr<TableInfo> InfoFromProto(const v1::TableDescription& description) {
  const v1::TableSchema& proto = description.schema();
  TableInfo info;
  info.table_id = description.table_id();
  info.row_bytes = description.row_bytes();
  info.highest_step = description.highest_step();
  info.schema.name = proto.name();
  info.schema.dim = proto.dim();
  absl::StatusOr<Optimizer> optimizer = OptimizerFromProto(proto.name(), proto.optimizer());
  if (!optimizer.ok()) return optimizer.status();
  info.schema.optimizer = *optimizer;
  absl::StatusOr<InitializerSpec> initializer =
      InitializerFromProto(proto.name(), proto.initializer());
  if (!initializer.ok()) return initializer.status();
  info.schema.initializer = *initializer;
  absl::StatusOr<Eviction> eviction = EvictionFromProto(proto.name(), proto.eviction());
  if (!eviction.ok()) return eviction.status();
  info.schema.eviction = *eviction;
  info.schema.seed = proto.seed();
  info.schema.num_embeddings = proto.num_embeddings();
  info.schema.gradient_bound = proto.gradient_bound();
  info.schema.durability = static_cast<Durability>(proto.durability());
  return info;
}

bool SameSchema(const v1::TableSchema& first, const v1::TableSchema& second) {
  return google::protobuf::util::MessageDifferencer::Equals(first, second);
}

std::string MismatchHint(const v1::TableSchema& asked, const v1::TableSchema& existing) {
  if (SameSchema(WithoutRate(asked), WithoutRate(existing))) {
    return "A table's learning rate is only the default of its pushes: open the table without an "
           "optimizer (one that is not named has default values), and give the rate to "
           "SparseOptimizer(lr=) or push(lr=).";
  }
  return "Open the table as it is, without naming what differs (what is not named when a table is "
         "created has default values), or create one of another name.";
}

}  // namespace hotrow::client
