// PullWork: one pull on its way through the strands of a shard.
//
//   Prepare   on the thread that brings it: checks everything, lays out the reply and shares the
//             keys out over the strands
//   Run       on each strand that has keys: writes its rows straight into the reply
//   Finish    on the last of them: hashes the rows and hands the reply over
//
// It changes no row, state, LSN or stored set; a pull for training may move rows between tiers.
//
// Thread safety: Prepare and Finish by one thread; Run by each strand for itself, between the two.
// Ownership: the reply owns its rows. After Rest() nothing of a pull is held but buffers of up to
// kKeptKeys keys for the next one.
// Bounds: a reply is at most wire::kMaxMessageBytes, header included. Errors: in the reply, which
// then has no rows.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/payload.h"
#include "server/shard/shard.h"
#include "server/shard/shard_state.h"
#include "server/shard/shared_work.h"

namespace hotrow {

class PullWork {
 public:
  static constexpr size_t kKeptKeys = 65536;

  explicit PullWork(const ShardState& state) : state_(state) {}

  wire::ErrorInfo Prepare(const wire::PullRequest& request);
  // Of the prepared pull.
  bool Concerns(int strand) const { return concerned_[strand] != 0; }
  int strands() const { return strands_; }  // that it concerns
  size_t reply_bytes() const { return reply_bytes_; }
  // What its strands decide together; where an error of the whole request goes, so that Finish
  // answers with it.
  SharedWork& shared() { return shared_; }

  void Run(StrandState& strand, int index);
  PullReply Finish();
  void Rest();

 private:
  // The keys of one table that one strand looks up.
  struct Segment {
    int strand = 0;
    size_t table = 0;  // index into the tables of the request
    size_t begin = 0;  // keys_ and rows_ [begin, end)
    size_t end = 0;
    uint32_t initial = 0;  // written by the strand: rows that are not stored
  };

  wire::ErrorInfo LayOut(const wire::PullRequest& request);
  // False when a key belongs to another shard.
  bool FindStrands(const TableOptions& table, std::span<const Key> keys);
  void ShareOut(size_t table, std::span<const Key> keys, std::byte* rows);

  const ShardState& state_;
  SharedWork shared_;
  ReadKind kind_ = ReadKind::kTraining;
  wire::PullResponse response_;
  std::vector<TableDirectory::Entry> tables_;  // of the request, while it is prepared
  std::optional<wire::PayloadBuffer> reply_;
  size_t reply_bytes_ = 0;

  std::vector<Key> asked_keys_;     // (n) in the order of the request
  std::vector<int16_t> strand_of_;  // (keys of one table)
  std::vector<Key> keys_;           // (n) segment by segment
  std::vector<RowPointer> rows_;    // (n) where the row of keys_[i] stands in the reply
  std::vector<Segment> segments_;   // of a table by strand
  std::vector<uint8_t> concerned_;  // (strands)
  std::vector<size_t> cursors_;     // (strands) workspace of ShareOut
  int strands_ = 0;
};

}  // namespace hotrow
