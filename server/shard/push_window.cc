#include "server/shard/push_window.h"

#include <utility>

namespace hotrow {

PushWindow::~PushWindow() {
  for (Kept& kept : answers_) Forget(kept);
}

void PushWindow::Forget(Kept& kept) {
  if (kept.rare != nullptr) limit_.kept -= static_cast<int64_t>(kept.rare->refused_keys.size());
  kept.rare = nullptr;
}

void PushWindow::Consume(uint64_t content_hash, const wire::SubPushResult& answer) {
  // Number 0 does not exist: its place is taken by a blank, so that n is at n % kAnswers.
  if (answers_.empty()) answers_.emplace_back();
  if (answers_.size() < kAnswers) answers_.emplace_back();
  Kept& kept = answers_[next_ % kAnswers];
  Forget(kept);
  kept.content_hash = content_hash;
  kept.applied_lsn = answer.applied_lsn;
  kept.outcome = answer.outcome;
  kept.counts = answer.counts;
  if (!answer.error.ok() || !answer.refused_keys.empty()) {
    kept.rare = std::make_unique<Rare>();
    kept.rare->error = answer.error;
    const auto keys = static_cast<int64_t>(answer.refused_keys.size());
    if (limit_.kept + keys <= KeptKeysLimit::kMaxKeys) {
      kept.rare->refused_keys = answer.refused_keys;
      limit_.kept += keys;
    }
  }
  ++next_;
}

wire::SubPushResult PushWindow::Answer(uint64_t sequence) const {
  const Kept& kept = At(sequence);
  wire::SubPushResult answer;
  answer.sequence = sequence;
  answer.outcome = kept.outcome;
  answer.applied_lsn = kept.applied_lsn;
  answer.counts = kept.counts;
  if (kept.rare != nullptr) {
    answer.error = kept.rare->error;
    answer.refused_keys = kept.rare->refused_keys;
  }
  return answer;
}

}  // namespace hotrow
