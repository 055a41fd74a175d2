#include "server/table/table_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hotrow/v1/table.pb.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/hashes.h"
#include "proto/wire/status_codec.h"
#include "server/table/unoffered_fields.h"

namespace hotrow {
namespace {

constexpr size_t kMaxNameBytes = 128;
constexpr char kNameRule[] = "[A-Za-z0-9_.:/-]{1,128}";

absl::Status Invalid(const v1::TableSchema& schema, std::string message, std::string hint = "") {
  return wire::ToStatus({.kind = wire::ErrorKind::kInvalidArgument,
                         .message = std::move(message),
                         .hint = std::move(hint),
                         .table = schema.name()});
}

absl::Status CheckName(const v1::TableSchema& schema) {
  const std::string& name = schema.name();
  bool good = !name.empty() && name.size() <= kMaxNameBytes;
  for (const char c : name) {
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    const bool digit = c >= '0' && c <= '9';
    const bool mark = c == '_' || c == '.' || c == ':' || c == '/' || c == '-';
    good = good && (letter || digit || mark);
  }
  if (good) return absl::OkStatus();
  // The name itself is not repeated: it may be long or hold any byte.
  return wire::ToStatus({.kind = wire::ErrorKind::kInvalidArgument,
                         .message = fmt::format("a table name must match {}", kNameRule)});
}

absl::Status CheckLearningRate(const v1::TableSchema& schema, float learning_rate) {
  if (learning_rate >= 0.0F && learning_rate <= wire::kMaxLearningRate) return absl::OkStatus();
  return Invalid(schema, fmt::format("table '{}': lr must be in 0 .. 1e15, not {}", schema.name(),
                                     learning_rate));
}

absl::Status FillOptimizer(const v1::TableSchema& schema, TableOptions* options) {
  OptimizerOptions& out = options->optimizer;
  const v1::Optimizer& in = schema.optimizer();
  switch (in.kind_case()) {
    case v1::Optimizer::kSgd:
      out.kind = OptimizerKind::kSgd;
      options->default_learning_rate = in.sgd().lr();
      break;
    case v1::Optimizer::kAdagrad:
      out.kind = OptimizerKind::kAdagrad;
      out.eps = in.adagrad().eps();
      out.initial_accumulator = in.adagrad().initial_accumulator_value();
      options->default_learning_rate = in.adagrad().lr();
      break;
    case v1::Optimizer::kRowwiseAdagrad:
      out.kind = OptimizerKind::kRowwiseAdagrad;
      out.eps = in.rowwise_adagrad().eps();
      out.initial_accumulator = in.rowwise_adagrad().initial_accumulator_value();
      options->default_learning_rate = in.rowwise_adagrad().lr();
      break;
    case v1::Optimizer::kAdam:
      out.kind = OptimizerKind::kAdam;
      out.eps = in.adam().eps();
      out.beta1 = in.adam().beta1();
      out.beta2 = in.adam().beta2();
      options->default_learning_rate = in.adam().lr();
      break;
    case v1::Optimizer::kFtrl:
    case v1::Optimizer::KIND_NOT_SET:
      return Invalid(schema, fmt::format("table '{}': an optimizer is required", schema.name()),
                     "choose one of sgd, adagrad, rowwise_adagrad, adam");
  }
  if (const Result valid = ValidateOptimizer(out); !valid.ok()) {
    return Invalid(schema, fmt::format("table '{}': {}", schema.name(), valid.message()));
  }
  return CheckLearningRate(schema, options->default_learning_rate);
}

absl::Status FillInitializer(const v1::TableSchema& schema, TableOptions* options) {
  Initializer& out = options->initializer;
  const v1::Initializer& in = schema.initializer();
  out.table_salt = options->table_salt;
  out.seed = schema.seed();
  switch (in.kind_case()) {
    case v1::Initializer::kConstant:
      out.kind = InitializerKind::kConstant;
      out.a = in.constant().value();
      break;
    case v1::Initializer::kUniform:
      out.kind = InitializerKind::kUniform;
      out.a = in.uniform().low();
      out.b = in.uniform().high();
      break;
    case v1::Initializer::kNormal:
      out.kind = InitializerKind::kNormal;
      out.a = in.normal().mean();
      out.b = in.normal().standard_deviation();
      break;
    case v1::Initializer::kZeros:
    case v1::Initializer::KIND_NOT_SET:
      out.kind = InitializerKind::kZeros;
      break;
  }
  if (const Result valid = ValidateInitializer(out); !valid.ok()) {
    return Invalid(schema, fmt::format("table '{}': {}", schema.name(), valid.message()));
  }
  return absl::OkStatus();
}

absl::Status FillEviction(const v1::TableSchema& schema, TableOptions* options) {
  const v1::Eviction& in = schema.eviction();
  switch (in.kind_case()) {
    case v1::Eviction::kNone:
      options->eviction = EvictionKind::kNone;
      break;
    case v1::Eviction::kLfu:
      options->eviction = EvictionKind::kLfu;
      options->eviction_decay = in.lfu().decay();
      if (!(in.lfu().decay() > 0.0F && in.lfu().decay() <= 1.0F)) {
        return Invalid(schema, fmt::format("table '{}': the decay of lfu must be above 0 and at "
                                           "most 1, not {}",
                                           schema.name(), in.lfu().decay()));
      }
      break;
    case v1::Eviction::kLru:
    case v1::Eviction::kTimeToLive:
    case v1::Eviction::KIND_NOT_SET:
      options->eviction = EvictionKind::kLru;
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const v1::TableSchema& schema) {
  if (schema.dim() < 1 || schema.dim() > wire::kMaxDim) {
    return Invalid(schema, fmt::format("table '{}': dim must be 1 .. {}, not {}", schema.name(),
                                       wire::kMaxDim, schema.dim()));
  }
  const float bound = schema.gradient_bound();
  if (!(bound > 0.0F && bound <= wire::kMaxGradientBound)) {
    return Invalid(schema, fmt::format("table '{}': gradient_bound must be above 0 and at most "
                                       "1e15, not {}",
                                       schema.name(), bound));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TableOptions> TableOptions::FromSchema(const v1::TableSchema& given) {
  if (absl::Status status = CheckName(given); !status.ok()) return status;
  const v1::TableSchema schema = NormalizedSchema(given);
  if (absl::Status status = RefuseUnoffered(schema); !status.ok()) return status;
  if (absl::Status status = CheckNumbers(schema); !status.ok()) return status;

  TableOptions options;
  options.name = schema.name();
  options.table_salt = wire::TableSalt(schema.name());
  options.dim = schema.dim();
  options.num_embeddings = schema.num_embeddings();
  options.gradient_bound = schema.gradient_bound();
  if (absl::Status status = FillOptimizer(schema, &options); !status.ok()) return status;
  if (absl::Status status = FillInitializer(schema, &options); !status.ok()) return status;
  if (absl::Status status = FillEviction(schema, &options); !status.ok()) return status;
  return options;
}

bool TableOptions::KeysInRange(std::span<const Key> keys) const {
  if (num_embeddings == 0) return true;
  Key highest = 0;
  for (const Key key : keys) highest = std::max(highest, key);
  return highest < num_embeddings;
}

RowLayout TableOptions::layout() const {
  return RowLayout::Of(dim, StateColumns(optimizer.kind, dim));
}

}  // namespace hotrow
