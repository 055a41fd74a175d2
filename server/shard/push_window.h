// PushWindow: which numbers of one (session, partition) have been consumed, and the answers to the
// last of them.
//
// Thread safety: strand only. Bounds: kAnswers answers; the keys that an answer lists count against
// a limit that is shared by all windows (KeptKeysLimit).

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "proto/wire/batch_codec.h"

namespace hotrow {

// Refused keys that kept answers may hold, over all windows of a strand: 8 MiB. An answer that
// would exceed it is kept without its keys; its counts stay right.
struct KeptKeysLimit {
  static constexpr int64_t kMaxKeys = int64_t{1} << 20;
  int64_t kept = 0;
};

class PushWindow {
 public:
  static constexpr uint64_t kAnswers = wire::kKeptAnswers;

  explicit PushWindow(KeptKeysLimit& limit) : limit_(limit) {}
  ~PushWindow();
  PushWindow(const PushWindow&) = delete;
  PushWindow& operator=(const PushWindow&) = delete;

  uint64_t next() const { return next_; }

  // Consumes number next() with this answer.
  void Consume(uint64_t content_hash, const wire::SubPushResult& answer);

  // Whether the answer to the consumed number `sequence` (1 .. next() - 1) is still kept.
  bool Keeps(uint64_t sequence) const { return sequence + answers_.size() >= next_; }
  // Of a kept number.
  uint64_t content_hash(uint64_t sequence) const { return At(sequence).content_hash; }
  wire::SubPushResult Answer(uint64_t sequence) const;

 private:
  // What few answers have.
  struct Rare {
    wire::ErrorInfo error;
    std::vector<Key> refused_keys;
  };
  struct Kept {
    uint64_t content_hash = 0;
    uint64_t applied_lsn = 0;
    wire::Outcome outcome = wire::Outcome::kApplied;
    std::vector<wire::TableCounts> counts;
    std::unique_ptr<Rare> rare;
  };

  const Kept& At(uint64_t sequence) const { return answers_[sequence % kAnswers]; }
  void Forget(Kept& kept);

  uint64_t next_ = 1;
  std::vector<Kept> answers_;  // a ring: number n is at n % kAnswers
  KeptKeysLimit& limit_;
};

}  // namespace hotrow
