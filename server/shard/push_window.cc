#include "server/shard/push_window.h"

#include <algorithm>
#include <utility>

namespace hotrow {
namespace {

// What a map of windows adds to each of them.
constexpr int64_t kNodeBytes = 32;

}  // namespace

const int64_t PushWindow::kMostRingBytes =
    kAnswers * sizeof(Kept) + sizeof(PushWindow) + kNodeBytes;

int64_t SessionsWhoseRingsFit(int64_t partitions) {
  const int64_t of_session = std::max<int64_t>(partitions, 1) * PushWindow::kMostRingBytes;
  return std::max<int64_t>(kMaxRingBytes / of_session, 1);
}

PushWindow::~PushWindow() {
  for (const Kept& kept : answers_) all_.extra_bytes -= BytesOf(kept);
  all_.ring_bytes -= static_cast<int64_t>(answers_.capacity() * sizeof(Kept));
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
  all_.ring_bytes += static_cast<int64_t>((answers_.capacity() - before) * sizeof(Kept));
}

void PushWindow::Shorten(Kept& kept) {
  for (const wire::TableCounts& counts : kept.counts) {
    if (counts.rows_refused == 0) continue;
    if (kept.rows_refused == 0) kept.refusing_table = counts.table_id;
    kept.rows_refused += counts.rows_refused;
  }
  if (kept.rare != nullptr) kept.kind = kept.rare->error.kind;
  kept.rare = nullptr;
  kept.counts = std::vector<wire::TableCounts>();  // frees, as "= {}" would not
}

void PushWindow::Store(const wire::SubPushResult& answer, Kept& kept) const {
  kept.applied_lsn = answer.applied_lsn;
  kept.outcome = answer.outcome;
  kept.counts = answer.counts;
  if (!answer.error.ok() || !answer.refused_keys.empty()) {
    kept.rare = std::make_unique<Rare>(Rare{answer.error, answer.refused_keys});
  }
  if (all_.extra_bytes + BytesOf(kept) > all_.max_extra_bytes) Shorten(kept);
}

void PushWindow::Consume(uint64_t content_hash, const wire::SubPushResult& answer) {
  MakeRoom();
  Kept& kept = answers_[next_ % kAnswers];
  all_.extra_bytes -= BytesOf(kept);
  kept = Kept();
  kept.content_hash = content_hash;
  Store(answer, kept);
  all_.extra_bytes += BytesOf(kept);
  ++next_;
}

wire::SubPushResult PushWindow::Answer(uint64_t sequence) const {
  const Kept& kept = At(sequence);
  wire::SubPushResult answer;
  answer.sequence = sequence;
  answer.outcome = kept.outcome;
  answer.applied_lsn = kept.applied_lsn;
  answer.counts = kept.counts;
  if (kept.kind != wire::ErrorKind::kNone) {
    answer.error.kind = kept.kind;
    answer.error.message = "as answered before; this shard has kept no more of it";
  }
  if (kept.rows_refused > 0) {
    answer.counts = {{.table_id = kept.refusing_table, .rows_refused = kept.rows_refused}};
  }
  if (kept.rare != nullptr) {
    answer.error = kept.rare->error;
    answer.refused_keys = kept.rare->refused_keys;
  }
  return answer;
}

}  // namespace hotrow
