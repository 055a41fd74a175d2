// WriteBehind: the rows of one strand that are on their way to the cold store.
//
//   strand   Add -> open chunk -> sealed chunks -> writer thread -> ColdStore::Write
//   lookups  Find sees every row from Add on until it is in the store: the newest version
//
// A strand never waits for the disk but in MakeRoom, when max_bytes are on their way. A write that
// fails is tried again, with pauses, and its rows stay here meanwhile: nothing is dropped. A chunk
// is sealed when it is full, when it is old at the next MakeRoom, and for Drain.
//
// The writer thread only reads sealed chunks and marks them written; the index belongs to the
// strand, which takes written chunks out of it in its next call. So lookups take no lock.
//
// Thread safety: the strand calls every method; those that count, any thread. Ownership: owns queue
// and thread; the store outlives it. Bounds: max_bytes of chunks beside what one batch adds.
// Errors: kUnavailable from MakeRoom and Drain, with the cause of the last failed write.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "kernels/base/key.h"
#include "kernels/base/mutex.h"
#include "server/tiers/cold_store.h"
#include "server/tiers/tier.h"
#include "server/tiers/tier_options.h"
#include "server/tiers/write_chunk.h"

namespace hotrow {

// What is known here of a row.
struct PendingRow {
  enum class State : uint8_t { kUnknown, kStored, kRemoved };
  State state = State::kUnknown;
  uint32_t score = 0;
  const std::byte* record = nullptr;  // of kStored; until the next call
};

class WriteBehind {
 public:
  WriteBehind(ColdStore& store, WriteBehindOptions options);
  ~WriteBehind();  // ends the thread; what is not written is lost, as Drain() was not called
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // After success, Adds of at most `bytes` bytes of rows keep the bound, or the queue is empty.
  // kOverloaded when the disk is too slow, kUnavailable when it fails.
  absl::Status MakeRoom(int64_t bytes, Patience patience);
  // Queues the newest version of a row. `entry`: see WriteChunk; offset and row_bytes are filled
  // in.
  void Add(WriteChunk::Entry entry, std::span<const std::byte> record);
  PendingRow Find(uint32_t table, Key key);
  // Forgets what it has of a table that is dropped; ColdStore::DropTable sees to it that nothing of
  // it is written any more.
  void Forget(uint32_t table);
  // Returns when everything that was added is written (not flushed).
  absl::Status Drain(std::chrono::milliseconds longest_wait);

  int64_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    const WriteChunk* chunk = nullptr;
    int64_t entry = 0;
  };
  using RowName = std::pair<uint32_t, Key>;  // table, key

  int64_t Target(int64_t bytes) const { return std::max<int64_t>(0, options_.max_bytes - bytes); }
  void Seal();
  // Takes out of the index what has been written.
  void Reap();
  void ForgetChunk(const WriteChunk& chunk);
  // Until no more than `bytes` are pending, the last write has failed, or it takes too long.
  absl::Status WaitFor(int64_t bytes, std::chrono::milliseconds longest_wait);
  void Run();  // the writer
  const WriteChunk* NextChunk();
  void Told(const absl::Status& status);

  ColdStore& store_;
  const WriteBehindOptions options_;

  // Of the strand.
  std::unique_ptr<WriteChunk> open_ = std::make_unique<WriteChunk>();
  std::chrono::steady_clock::time_point opened_;  // when the first row of open_ came
  absl::flat_hash_map<RowName, Place> index_;
  std::vector<std::unique_ptr<WriteChunk>> spare_;  // kept for their memory

  mutable Mutex mutex_;
  CondVar changed_;
  // Sealed chunks, oldest first. The first written_ of them are in the store and wait for the
  // strand; the others wait for the writer, which alone reads them.
  std::deque<std::unique_ptr<WriteChunk>> sealed_ HOTROW_GUARDED_BY(mutex_);
  size_t written_ HOTROW_GUARDED_BY(mutex_) = 0;
  absl::Status last_write_ HOTROW_GUARDED_BY(mutex_);
  bool stopping_ HOTROW_GUARDED_BY(mutex_) = false;
  std::atomic<int64_t> pending_bytes_{0};  // relaxed: a count that orders nothing
  std::thread writer_;                     // last: uses the others
};

}  // namespace hotrow
