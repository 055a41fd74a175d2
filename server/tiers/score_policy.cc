#include "server/tiers/score_policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace hotrow {
namespace {

constexpr uint32_t kHighest = std::numeric_limits<uint32_t>::max();
constexpr double kUnitsPerDoubling = 65536;
// Finer than 1/1024 of what memory holds a clock of the last use decides nothing.
constexpr int64_t kTicksPerMemory = 1024;

// log2(1 + 2^-x) in score units for x in 1/64 doublings; nothing from 16 doublings on.
constexpr int kStepsPerDoubling = 64;
constexpr int kDoublings = 16;

std::array<uint32_t, kStepsPerDoubling * kDoublings> MakeGains() {
  std::array<uint32_t, kStepsPerDoubling * kDoublings> gains;
  for (size_t i = 0; i < gains.size(); ++i) {
    const double apart = static_cast<double>(i) / kStepsPerDoubling;
    gains[i] =
        static_cast<uint32_t>(std::lround(std::log2(1 + std::exp2(-apart)) * kUnitsPerDoubling));
  }
  return gains;
}

uint32_t Saturated(double value) {
  return value >= static_cast<double>(kHighest) ? kHighest : static_cast<uint32_t>(value);
}

}  // namespace

ScorePolicy::ScorePolicy(EvictionKind kind, double decay)
    : kind_(kind), doublings_per_step_(kind == EvictionKind::kLfu ? -std::log2(decay) : 0) {
  // A first use scores above a row that was never used.
  if (kind == EvictionKind::kTimeToLive) now_ = 0;
}

uint32_t ScorePolicy::OnReturn(uint32_t score) {
  if (kind_ == EvictionKind::kLru) now_ = std::max(now_, score);
  return score;
}

void ScorePolicy::Begin(int64_t rows, int64_t slots, uint64_t step) {
  switch (kind_) {
    case EvictionKind::kLfu:
      // Above 0, the score of a row that was never used.
      now_ = std::max<uint32_t>(
          1, Saturated(static_cast<double>(step) * doublings_per_step_ * kUnitsPerDoubling));
      break;
    case EvictionKind::kTimeToLive:
      now_ = static_cast<uint32_t>(std::min<uint64_t>(step, kHighest));
      break;
    case EvictionKind::kNone:
    case EvictionKind::kLru:
      rows_since_tick_ += rows;
      if (rows_since_tick_ * kTicksPerMemory < slots) break;
      rows_since_tick_ = 0;
      if (now_ != kHighest) ++now_;
      break;
  }
}

uint32_t ScorePolicy::Add(uint32_t score) const {
  static const auto gains = MakeGains();
  const uint32_t high = std::max(score, now_);
  const uint32_t apart = high - std::min(score, now_);
  if (score == 0) return now_;
  const size_t index = apart / static_cast<uint32_t>(kUnitsPerDoubling / kStepsPerDoubling);
  const uint32_t gain = index < gains.size() ? gains[index] : 0;
  return high > kHighest - gain ? kHighest : high + gain;
}

}  // namespace hotrow
