// The partitions that a strand writes: their LSNs and, per session, their push windows.
//
// Thread safety: strand only. Bounds: one window for each (open session, owned partition) that has
// consumed a number.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "server/shard/push_window.h"
#include "server/shard/strand_map.h"

namespace hotrow {

class Partition {
 public:
  explicit Partition(KeptAnswers& kept) : kept_(kept) {}

  uint64_t lsn() const { return lsn_; }
  // Position of the next mutation. Every consumed number is one, refused and skipped ones too.
  uint64_t NextLsn() { return ++lsn_; }
  // `lsn` is that of the last mutation before the process started.
  void ContinueFrom(uint64_t lsn) { lsn_ = lsn; }

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
  // What the windows of a shard may hold beside their rings is shared out evenly over its strands.
  PartitionSet(const StrandMap& map, int strand);

  // nullptr if this strand does not write it.
  Partition* Find(uint32_t partition) { return partitions_[partition].get(); }
  // visit(number, partition) for each that this strand writes.
  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (uint32_t number = 0; number < count(); ++number) {
      if (partitions_[number] != nullptr) visit(number, *partitions_[number]);
    }
  }
  // Ends a session's numbered streams.
  void Forget(uint64_t session);
  const KeptAnswers& kept_answers() const { return kept_answers_; }

  uint32_t count() const { return static_cast<uint32_t>(partitions_.size()); }

 private:
  KeptAnswers kept_answers_;
  std::vector<std::unique_ptr<Partition>> partitions_;  // (P) null: not this strand's
};

}  // namespace hotrow
