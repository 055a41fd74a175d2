// The partitions that a shard owns: their LSNs and, per session, their push windows.
//
// Thread safety: Owns and OwnsAll are constant and may be called from any thread; the rest is
// strand only. Bounds: one window for each (open session, owned partition) that has consumed a
// number; what all of them hold is bounded by KeptAnswers.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "proto/wire/shard_map.h"
#include "server/shard/push_window.h"

namespace hotrow {

class Partition {
 public:
  explicit Partition(KeptAnswers& kept) : kept_(kept) {}

  uint64_t lsn() const { return lsn_; }
  // Position of the next mutation. Every consumed number is one, refused and skipped ones too.
  uint64_t NextLsn() { return ++lsn_; }

  PushWindow& Window(uint64_t session) {
    return windows_.try_emplace(session, kept_).first->second;
  }
  // nullptr if the session has consumed no number of this partition.
  const PushWindow* FindWindow(uint64_t session) const;
  void Forget(uint64_t session) { windows_.erase(session); }

 private:
  uint64_t lsn_ = 0;
  std::unordered_map<uint64_t, PushWindow> windows_;  // by session; windows do not move
  KeptAnswers& kept_;
};

class PartitionSet {
 public:
  PartitionSet(const wire::ShardMap& map, uint32_t shard);

  bool Owns(uint32_t partition) const { return owned_[partition] != 0; }
  // nullptr if this shard does not own it.
  Partition* Find(uint32_t partition) { return partitions_[partition].get(); }
  // Ends a session's numbered streams.
  void Forget(uint64_t session);
  const KeptAnswers& kept_answers() const { return kept_answers_; }

  uint32_t count() const { return static_cast<uint32_t>(partitions_.size()); }
  int partition_bits() const { return partition_bits_; }

 private:
  KeptAnswers kept_answers_;
  const int partition_bits_;
  std::vector<uint8_t> owned_;                          // (P) 0 or 1
  std::vector<std::unique_ptr<Partition>> partitions_;  // (P) null: not owned
};

}  // namespace hotrow
