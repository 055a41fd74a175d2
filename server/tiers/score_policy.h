// ScorePolicy: what a row's score becomes when it is used. The row with the lowest score of its
// sets leaves memory first.
//
//   kLru          the time of the last use, on a clock that ticks by rows used
//   kLfu          log2 of the decayed number of uses: each use counts 1 at its training step and is
//                 worth `decay` times as much a step later
//   kTimeToLive   the training step of the last push
//
// LFU without sweeps: decaying all rows equally changes no order, so a use at step t is given
// weight decay^-t instead, and the score is the logarithm of the sum of weights. With L = t
// log2(1/decay) a use makes log2(2^s + 2^L) = max(s, L) + log2(1 + 2^-|s - L|) of score s.
// ("Forward decay", Cormode et al., ICDE 2009.)
//
// Thread safety: strand only. Units: LFU scores are 1/65536 of a doubling; they saturate, as the
// clock does, without wrapping.

#pragma once

#include <cstdint>

namespace hotrow {

enum class EvictionKind : uint8_t { kNone, kLru, kLfu, kTimeToLive };

class ScorePolicy {
 public:
  ScorePolicy() = default;
  // `decay` in 0 < decay <= 1, of kLfu.
  ScorePolicy(EvictionKind kind, double decay);

  EvictionKind kind() const { return kind_; }

  // Scores of a row that a batch pulls or pushes.
  uint32_t OnPull(uint32_t score) const {
    return kind_ == EvictionKind::kTimeToLive ? score : OnUse(score);
  }
  uint32_t OnPush(uint32_t score) const { return OnUse(score); }
  // Of a row that comes back from below: its own, which the clock then is never behind.
  uint32_t OnReturn(uint32_t score);

  // Before a batch: `rows` are about to be used of a memory of `slots`, at a training step.
  void Begin(int64_t rows, int64_t slots, uint64_t step);

  uint32_t now() const { return now_; }

 private:
  uint32_t OnUse(uint32_t score) const { return kind_ == EvictionKind::kLfu ? Add(score) : now_; }
  uint32_t Add(uint32_t score) const;

  EvictionKind kind_ = EvictionKind::kLru;
  double doublings_per_step_ = 0;  // log2(1 / decay)
  uint32_t now_ = 1;               // clock, or L, or step
  int64_t rows_since_tick_ = 0;
};

}  // namespace hotrow
