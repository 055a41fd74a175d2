#include "server/tiers/write_behind.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>

#include "proto/wire/status_codec.h"

namespace hotrow {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSpareChunks = 4;
constexpr uint32_t kRetryAfterMs = 100;

absl::Status TooSlow(int64_t pending_bytes) {
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kOverloaded,
       .message = fmt::format("{} bytes of rows wait to be written to disk", pending_bytes),
       .hint = "the disk is slower than rows are displaced: raise tiers.hot_budget, or push less",
       .retry_after_ms = kRetryAfterMs});
}

}  // namespace

WriteBehind::WriteBehind(ColdStore& store, WriteBehindOptions options)
    : store_(store), options_(options), writer_([this] { Run(); }) {}

WriteBehind::~WriteBehind() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  writer_.join();
}

absl::Status WriteBehind::MakeRoom(int64_t bytes, Patience patience) {
  Reap();
  if (pending_bytes() <= Target(bytes)) return absl::OkStatus();
  Seal();
  if (patience == Patience::kNone) return TooSlow(pending_bytes());
  return WaitFor(Target(bytes), options_.longest_wait);
}

absl::Status WriteBehind::WaitFor(int64_t bytes, std::chrono::milliseconds longest_wait) {
  const auto deadline = Clock::now() + longest_wait;
  while (true) {
    Reap();
    if (pending_bytes() <= bytes) return absl::OkStatus();
    MutexLock lock(mutex_);
    if (written_ > 0) continue;
    if (!last_write_.ok()) return last_write_;
    if (!changed_.WaitUntil(mutex_, deadline) && written_ == 0) return TooSlow(pending_bytes());
  }
}

void WriteBehind::Add(WriteChunk::Entry entry, std::span<const std::byte> record) {
  if (open_->empty()) opened_ = Clock::now();
  const int64_t before = open_->bytes();
  const int64_t place = open_->Add(entry, record);
  pending_bytes_.fetch_add(open_->bytes() - before, std::memory_order_relaxed);
  index_[{entry.table, entry.key}] = {open_.get(), place};
  if (open_->bytes() >= options_.chunk_bytes) Seal();
}

PendingRow WriteBehind::Find(uint32_t table, Key key) {
  const auto found = index_.find(RowName(table, key));
  if (found == index_.end()) return {};
  const WriteChunk::Entry& entry = found->second.chunk->entries()[found->second.entry];
  if (entry.removed) return {.state = PendingRow::State::kRemoved};
  return {.state = PendingRow::State::kStored,
          .score = entry.score,
          .record = found->second.chunk->record(entry)};
}

void WriteBehind::Forget(uint32_t table) {
  absl::erase_if(index_, [table](const auto& row) { return row.first.first == table; });
}

absl::Status WriteBehind::Drain(std::chrono::milliseconds longest_wait) {
  Seal();
  return WaitFor(0, longest_wait);
}

void WriteBehind::Seal() {
  if (open_->empty()) return;
  {
    MutexLock lock(mutex_);
    sealed_.push_back(std::move(open_));
    changed_.NotifyAll();
  }
  if (spare_.empty()) {
    open_ = std::make_unique<WriteChunk>();
  } else {
    open_ = std::move(spare_.back());
    spare_.pop_back();
  }
}

void WriteBehind::Reap() {
  if (!open_->empty() && Clock::now() - opened_ >= options_.chunk_age) Seal();
  while (true) {
    std::unique_ptr<WriteChunk> chunk;
    {
      MutexLock lock(mutex_);
      if (written_ == 0) return;
      chunk = std::move(sealed_.front());
      sealed_.pop_front();
      --written_;
    }
    ForgetChunk(*chunk);
    pending_bytes_.fetch_sub(chunk->bytes(), std::memory_order_relaxed);
    chunk->Clear();
    if (spare_.size() < kSpareChunks) spare_.push_back(std::move(chunk));
  }
}

// Rows of which a later chunk has a newer version stay in the index.
void WriteBehind::ForgetChunk(const WriteChunk& chunk) {
  for (const WriteChunk::Entry& entry : chunk.entries()) {
    const auto found = index_.find(RowName(entry.table, entry.key));
    if (found != index_.end() && found->second.chunk == &chunk) index_.erase(found);
  }
}

// The oldest chunk that is not written; null when the thread is to end.
const WriteChunk* WriteBehind::NextChunk() {
  MutexLock lock(mutex_);
  while (!stopping_ && written_ == sealed_.size()) changed_.Wait(mutex_);
  if (stopping_) return nullptr;
  if (!last_write_.ok()) {
    // Whatever failed needs a moment, or somebody's hand.
    const auto until = Clock::now() + options_.retry_pause;
    while (!stopping_ && changed_.WaitUntil(mutex_, until)) {
    }
    if (stopping_) return nullptr;
  }
  return sealed_[written_].get();
}

void WriteBehind::Run() {
  while (const WriteChunk* chunk = NextChunk()) Told(store_.Write(*chunk));
}

void WriteBehind::Told(const absl::Status& status) {
  bool first = false;
  bool again = false;
  {
    MutexLock lock(mutex_);
    first = last_write_.ok() && !status.ok();
    again = !last_write_.ok() && status.ok();
    last_write_ = status;
    if (status.ok()) ++written_;
    changed_.NotifyAll();
  }
  if (first) {
    SPDLOG_ERROR("rows cannot be written to disk, they wait in memory: {}",
                 std::string(status.message()));
  }
  if (again) SPDLOG_INFO("rows are written to disk again");
}

}  // namespace hotrow
