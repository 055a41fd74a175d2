#include "proto/wire/shard_map.h"

#include <bit>
#include <unordered_set>
#include <utility>

#include "hotrow/v1/shard_map.pb.h"

namespace hotrow::wire {
namespace {

absl::Status Refuse(const std::string& reason) {
  return absl::InvalidArgumentError("shard map: " + reason);
}

absl::Status CheckPartitions(uint32_t partitions) {
  if (!std::has_single_bit(partitions) || partitions > kMaxPartitions) {
    return Refuse("partitions must be a power of two in 1 .. " + std::to_string(kMaxPartitions) +
                  ", not " + std::to_string(partitions));
  }
  return absl::OkStatus();
}

absl::Status CheckShards(const std::vector<std::string>& shards, uint32_t partitions) {
  if (shards.empty() || shards.size() > partitions) {
    return Refuse("there must be 1 .. " + std::to_string(partitions) +
                  " shards (one per partition at most), not " + std::to_string(shards.size()));
  }
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].empty()) return Refuse("shard " + std::to_string(i) + " has no address");
    if (!seen.insert(shards[i]).second) return Refuse("address " + shards[i] + " comes twice");
  }
  return absl::OkStatus();
}

absl::Status CheckOwners(const v1::ShardMap& proto) {
  const auto partitions = static_cast<int>(proto.partitions());
  if (proto.owners_size() != partitions) {
    return Refuse(std::to_string(proto.owners_size()) + " owners for " +
                  std::to_string(partitions) + " partitions");
  }
  for (int p = 0; p < partitions; ++p) {
    if (proto.owners(p) >= static_cast<uint32_t>(proto.shards_size())) {
      return Refuse("partition " + std::to_string(p) + " belongs to shard " +
                    std::to_string(proto.owners(p)) + ", which is not in the map");
    }
  }
  if (proto.owner_epochs_size() != 0 && proto.owner_epochs_size() != partitions) {
    return Refuse(std::to_string(proto.owner_epochs_size()) + " owner epochs for " +
                  std::to_string(partitions) + " partitions");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardMap> ShardMap::Static(std::vector<std::string> shards, uint32_t partitions) {
  if (absl::Status status = CheckPartitions(partitions); !status.ok()) return status;
  if (absl::Status status = CheckShards(shards, partitions); !status.ok()) return status;
  ShardMap map;
  map.partitions_ = partitions;
  map.partition_bits_ = std::countr_zero(partitions);
  map.shards_ = std::move(shards);
  map.owners_.reserve(partitions);
  for (uint32_t p = 0; p < partitions; ++p) {
    map.owners_.push_back(StaticOwner(p, partitions, static_cast<uint32_t>(map.shards_.size())));
  }
  return map;
}

absl::StatusOr<ShardMap> ShardMap::FromProto(const v1::ShardMap& proto) {
  if (proto.version() == 0) return Refuse("version is missing");
  if (proto.timeline() == 0) return Refuse("timeline is missing");
  if (absl::Status status = CheckPartitions(proto.partitions()); !status.ok()) return status;
  std::vector<std::string> shards(proto.shards().begin(), proto.shards().end());
  if (absl::Status status = CheckShards(shards, proto.partitions()); !status.ok()) return status;
  if (absl::Status status = CheckOwners(proto); !status.ok()) return status;
  ShardMap map;
  map.version_ = proto.version();
  map.timeline_ = proto.timeline();
  map.partitions_ = proto.partitions();
  map.partition_bits_ = std::countr_zero(proto.partitions());
  map.shards_ = std::move(shards);
  map.owners_.assign(proto.owners().begin(), proto.owners().end());
  return map;
}

void ShardMap::ToProto(v1::ShardMap* proto) const {
  proto->Clear();
  proto->set_version(version_);
  proto->set_timeline(timeline_);
  proto->set_partitions(partitions_);
  proto->mutable_shards()->Assign(shards_.begin(), shards_.end());
  proto->mutable_owners()->Assign(owners_.begin(), owners_.end());
}

}  // namespace hotrow::wire
