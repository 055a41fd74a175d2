#include "hotrow/v1/table.pb.h"
#include "proto/wire/batch_codec.h"
#include "server/table/table_options.h"

namespace hotrow {
namespace {

void NormalizeOptimizer(v1::Optimizer* optimizer) {
  if (optimizer->weight_decay() == 0.0F &&
      optimizer->weight_decay_mode() == v1::Optimizer::WEIGHT_DECAY_MODE_UNSPECIFIED) {
    optimizer->set_weight_decay_mode(v1::Optimizer::WEIGHT_DECAY_MODE_NONE);
  }
  if (optimizer->has_adam() &&
      optimizer->adam().bias_correction() == v1::Optimizer::BIAS_CORRECTION_UNSPECIFIED) {
    optimizer->mutable_adam()->set_bias_correction(v1::Optimizer::BIAS_CORRECTION_GLOBAL);
  }
}

bool IsUnset(const v1::TierShare& share) {
  return share.minimum_bytes() == 0 && share.maximum_bytes() == 0;
}

}  // namespace

v1::TableSchema NormalizedSchema(const v1::TableSchema& schema) {
  v1::TableSchema out = schema;
  if (out.data_type() == v1::DATA_TYPE_UNSPECIFIED) out.set_data_type(v1::DATA_TYPE_FLOAT32);
  if (out.state_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    out.set_state_data_type(v1::DATA_TYPE_FLOAT32);
  }
  if (out.durability() == v1::DURABILITY_CLASS_UNSPECIFIED) {
    out.set_durability(v1::DURABILITY_CLASS_MEMORY);
  }
  if (out.gradient_bound() == 0.0F) out.set_gradient_bound(wire::kMaxGradientBound);
  if (out.has_optimizer()) NormalizeOptimizer(out.mutable_optimizer());
  if (out.initializer().kind_case() == v1::Initializer::KIND_NOT_SET) {
    out.mutable_initializer()->mutable_zeros();
  }
  if (out.admission().kind_case() == v1::Admission::KIND_NOT_SET) {
    out.mutable_admission()->mutable_always();
  }
  if (out.eviction().kind_case() == v1::Eviction::KIND_NOT_SET) {
    out.mutable_eviction()->mutable_lru();
  }
  if (out.eviction().has_lfu() && out.eviction().lfu().decay() == 0.0F) {
    out.mutable_eviction()->mutable_lfu()->set_decay(1.0F);
  }
  const v1::TierShares& shares = out.tier_shares();
  if (IsUnset(shares.hot()) && IsUnset(shares.warm()) && IsUnset(shares.cold())) {
    out.clear_tier_shares();
  }
  return out;
}

}  // namespace hotrow
