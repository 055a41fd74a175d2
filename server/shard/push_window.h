// PushWindow: which numbers of one (session, partition) have been consumed, and the answers to the
// last of them.
//
// An answer that would exceed the limit of all windows (KeptAnswers) is kept in short: what the
// client decides by stays (outcome, LSN, kind of the error, refused rows of each table), and what
// only explains is left out (counts of tables that refused nothing, texts, the list of keys).
//
// Thread safety: strand only. Bounds: kAnswers answers, allocated as they come; their bytes count
// against KeptAnswers.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "proto/wire/batch_codec.h"

namespace hotrow {

// What all windows of a strand hold, and how much that may be. Beyond `full_bytes` answers are kept
// in short; at `max_bytes` no further number is consumed until sessions end.
struct KeptAnswers {
  int64_t full_bytes = int64_t{192} << 20;
  int64_t max_bytes = int64_t{256} << 20;
  int64_t used_bytes = 0;

  bool full() const { return used_bytes >= max_bytes; }
};

class PushWindow {
 public:
  static constexpr uint64_t kAnswers = wire::kKeptAnswers;

  explicit PushWindow(KeptAnswers& all) : all_(all) {}
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
  static int64_t BytesOf(const Kept& kept);
  void Store(const wire::SubPushResult& answer, Kept& kept) const;
  void MakeRoom();

  uint64_t next_ = 1;
  std::vector<Kept> answers_;  // a ring: number n is at n % kAnswers
  KeptAnswers& all_;
};

}  // namespace hotrow
