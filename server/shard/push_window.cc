#include "server/shard/push_window.h"

#include <utility>

namespace hotrow {

PushWindow::~PushWindow() {
  for (const Kept& kept : answers_) all_.used_bytes -= BytesOf(kept);
  all_.used_bytes -= static_cast<int64_t>(answers_.capacity() * sizeof(Kept));
}

int64_t PushWindow::BytesOf(const Kept& kept) {
  size_t bytes = kept.counts.capacity() * sizeof(wire::TableCounts);
  if (kept.rare != nullptr) {
    const wire::ErrorInfo& error = kept.rare->error;
    bytes += sizeof(Rare) + kept.rare->refused_keys.capacity() * sizeof(Key);
    bytes += error.message.capacity() + error.hint.capacity() + error.table.capacity();
  }
  return static_cast<int64_t>(bytes);
}

void PushWindow::MakeRoom() {
  const size_t before = answers_.capacity();
  // Number 0 does not exist: its place is taken by a blank, so that n is at n % kAnswers.
  if (answers_.empty()) answers_.emplace_back();
  if (answers_.size() < kAnswers) answers_.emplace_back();
  all_.used_bytes += static_cast<int64_t>((answers_.capacity() - before) * sizeof(Kept));
}

void PushWindow::Store(const wire::SubPushResult& answer, Kept& kept) const {
  kept.applied_lsn = answer.applied_lsn;
  kept.outcome = answer.outcome;
  kept.counts = answer.counts;
  if (!answer.error.ok() || !answer.refused_keys.empty()) {
    kept.rare = std::make_unique<Rare>(Rare{answer.error, answer.refused_keys});
  }
  if (all_.used_bytes + BytesOf(kept) <= all_.full_bytes) return;
  std::erase_if(kept.counts,
                [](const wire::TableCounts& counts) { return counts.rows_refused == 0; });
  kept.counts.shrink_to_fit();
  if (kept.rare == nullptr) return;
  wire::ErrorInfo error;
  error.kind = answer.error.kind;
  error.message = "as answered before; this shard has kept no more of it";
  kept.rare = std::make_unique<Rare>(Rare{std::move(error), {}});
}

void PushWindow::Consume(uint64_t content_hash, const wire::SubPushResult& answer) {
  MakeRoom();
  Kept& kept = answers_[next_ % kAnswers];
  all_.used_bytes -= BytesOf(kept);
  kept = Kept();
  kept.content_hash = content_hash;
  Store(answer, kept);
  all_.used_bytes += BytesOf(kept);
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
