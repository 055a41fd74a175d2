// PushWindow: which numbers of one (session, partition) have been consumed, and the answers to the
// last of them.
//
// What an answer needs beside its place in the ring has a limit, which all windows share
// (KeptAnswers). One that would exceed it is kept in short, in the ring alone: what the client
// decides by stays (outcome, LSN, kind of the error, how many rows were refused, and a table that
// refused some), and what only explains is left out (other counts, texts, the list of keys).
//
// Thread safety: strand only. Bounds: kAnswers answers, allocated as they come. No number is
// refused for want of room: sessions are let in only as long as all their rings fit
// (SessionsWhoseRingsFit), and what is beside the rings is bounded by KeptAnswers.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "proto/wire/batch_codec.h"

namespace hotrow {

// What all windows of a strand hold.
struct KeptAnswers {
  int64_t max_extra_bytes = int64_t{64} << 20;  // beyond it answers are kept in short
  int64_t extra_bytes = 0;                      // beside the rings
  int64_t ring_bytes = 0;

  int64_t used_bytes() const { return extra_bytes + ring_bytes; }
};

class PushWindow {
 public:
  static constexpr uint64_t kAnswers = wire::kKeptAnswers;
  static const int64_t kMostRingBytes;  // of a window, itself included

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
    wire::ErrorKind kind = wire::ErrorKind::kNone;  // of an answer that is kept in short
    uint32_t refusing_table = 0;                    // likewise, and the rows that all refused
    uint32_t rows_refused = 0;
    std::vector<wire::TableCounts> counts;
    std::unique_ptr<Rare> rare;
  };

  const Kept& At(uint64_t sequence) const { return answers_[sequence % kAnswers]; }
  static int64_t BytesOf(const Kept& kept);
  static void Shorten(Kept& kept);
  void Store(const wire::SubPushResult& answer, Kept& kept) const;
  void MakeRoom();

  uint64_t next_ = 1;
  std::vector<Kept> answers_;  // a ring: number n is at n % kAnswers
  KeptAnswers& all_;
};

// The rings of all sessions of a shard, however many strands they are spread over.
inline constexpr int64_t kMaxRingBytes = int64_t{256} << 20;

// How many sessions may be open so that the rings of each have room, on a shard that owns so many
// partitions; at least 1.
int64_t SessionsWhoseRingsFit(int64_t partitions);

}  // namespace hotrow
