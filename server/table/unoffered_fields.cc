#include "server/table/unoffered_fields.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "hotrow/v1/table.pb.h"
#include "proto/wire/status_codec.h"

namespace hotrow {
namespace {

struct Unoffered {
  std::string field;
  std::string value;
  std::string hint;
};

absl::Status Refuse(const v1::TableSchema& schema, Unoffered what) {
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kUnimplemented,
       .message = fmt::format("table '{}': {} = {} is not offered by this version", schema.name(),
                              what.field, what.value),
       .hint = std::move(what.hint),
       .table = schema.name()});
}

// Enum values that this build does not know have no name.
std::string NameOr(const std::string& name, int number) {
  return name.empty() ? std::to_string(number) : name;
}

absl::Status RefuseTypes(const v1::TableSchema& schema) {
  if (schema.data_type() != v1::DATA_TYPE_FLOAT32) {
    return Refuse(schema,
                  {"data_type", NameOr(v1::DataType_Name(schema.data_type()), schema.data_type()),
                   "use float32"});
  }
  if (schema.state_data_type() != v1::DATA_TYPE_FLOAT32) {
    return Refuse(schema,
                  {"state_data_type",
                   NameOr(v1::DataType_Name(schema.state_data_type()), schema.state_data_type()),
                   "use float32"});
  }
  if (schema.durability() != v1::DURABILITY_CLASS_MEMORY) {
    return Refuse(
        schema,
        {"durability", NameOr(v1::DurabilityClass_Name(schema.durability()), schema.durability()),
         "use durability \"memory\"; rows are then lost with the server process"});
  }
  return absl::OkStatus();
}

absl::Status RefuseOptimizer(const v1::TableSchema& schema) {
  const v1::Optimizer& optimizer = schema.optimizer();
  if (optimizer.has_ftrl()) {
    return Refuse(schema, {"optimizer", "ftrl", "use sgd, adagrad, rowwise_adagrad or adam"});
  }
  if (optimizer.has_sgd() && optimizer.sgd().momentum() != 0.0F) {
    return Refuse(schema, {"optimizer.sgd.momentum", fmt::format("{}", optimizer.sgd().momentum()),
                           "use momentum 0"});
  }
  if (optimizer.has_adagrad() && optimizer.adagrad().lr_decay() != 0.0F) {
    return Refuse(schema,
                  {"optimizer.adagrad.lr_decay", fmt::format("{}", optimizer.adagrad().lr_decay()),
                   "use lr_decay 0; each push carries its learning rate"});
  }
  if (optimizer.has_adam() &&
      optimizer.adam().bias_correction() != v1::Optimizer::BIAS_CORRECTION_GLOBAL) {
    const auto correction = optimizer.adam().bias_correction();
    return Refuse(schema, {"optimizer.adam.bias_correction",
                           NameOr(v1::Optimizer::BiasCorrection_Name(correction), correction),
                           "use global bias correction"});
  }
  if (optimizer.weight_decay() != 0.0F) {
    return Refuse(schema, {"optimizer.weight_decay", fmt::format("{}", optimizer.weight_decay()),
                           "use weight_decay 0"});
  }
  const auto mode = optimizer.weight_decay_mode();
  if (mode != v1::Optimizer::WEIGHT_DECAY_MODE_NONE &&
      mode != v1::Optimizer::WEIGHT_DECAY_MODE_UNSPECIFIED) {
    return Refuse(schema, {"optimizer.weight_decay_mode",
                           NameOr(v1::Optimizer::WeightDecayMode_Name(mode), mode),
                           "use weight_decay_mode none"});
  }
  return absl::OkStatus();
}

absl::Status RefusePolicies(const v1::TableSchema& schema) {
  if (schema.admission().has_count()) {
    return Refuse(schema, {"admission", "count", "use admission \"always\""});
  }
  if (schema.admission().has_probability()) {
    return Refuse(schema, {"admission", "probability", "use admission \"always\""});
  }
  if (schema.eviction().has_time_to_live()) {
    return Refuse(schema, {"eviction", "time_to_live", "use eviction \"lru\" or \"lfu\""});
  }
  return absl::OkStatus();
}

absl::Status RefuseShare(const v1::TableSchema& schema, const char* tier,
                         const v1::TierShare& share) {
  if (share.minimum_bytes() == 0 && share.maximum_bytes() == 0) return absl::OkStatus();
  return Refuse(schema,
                {fmt::format("tier_shares.{}", tier),
                 fmt::format("{} .. {} bytes", share.minimum_bytes(), share.maximum_bytes()),
                 "leave tier shares unset; all tables share the memory budget"});
}

}  // namespace

absl::Status RefuseUnoffered(const v1::TableSchema& schema) {
  if (absl::Status status = RefuseTypes(schema); !status.ok()) return status;
  if (absl::Status status = RefuseOptimizer(schema); !status.ok()) return status;
  if (absl::Status status = RefusePolicies(schema); !status.ok()) return status;
  const v1::TierShares& shares = schema.tier_shares();
  for (const auto& [tier, share] :
       {std::pair{"hot", &shares.hot()}, {"warm", &shares.warm()}, {"cold", &shares.cold()}}) {
    if (absl::Status status = RefuseShare(schema, tier, *share); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace hotrow
