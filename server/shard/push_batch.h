// PushBatch: the row work of several sub-pushes of one message, done table by table.
//
// Sub-pushes of different partitions have no key in common, so the order between them changes
// nothing and their rows can be found, created and updated in one pass: a pass over a thousand rows
// hides memory latency that passes over a hundred cannot.
//
// Only where room ends does grouping show: which of several new keys get the last slots is then
// decided table by table, not sub-push by sub-push.
//
// Thread safety: strand only. Ownership: rows point into the message's payload. Errors: Gather
// refuses a sub-push whole and leaves the batch as it was.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/payload.h"
#include "server/shard/shard_state.h"
#include "server/table/row_batch.h"

namespace hotrow {

class PushBatch {
 public:
  explicit PushBatch(StrandState& state) : state_(state) {}

  // Checks the tables, keys and values of a sub-push (`part` is its share of the payload) and adds
  // its rows. Nothing is changed but this batch. All sub-pushes have one operation.
  wire::ErrorInfo Gather(const wire::SubPush& sub_push, const wire::Payload& part);
  // Gives the sub-push that was gathered last its LSN.
  void SetLsn(uint64_t lsn);

  // Does the row work of all gathered sub-pushes, or, when rows cannot be read or written, none.
  // (A removal of several tables may have removed from some: doing it again changes nothing.)
  absl::Status Apply();
  // Counts and refused keys of gathered sub-push number `index`, after Apply.
  void Report(size_t index, wire::SubPushResult* result) const;
  void Clear();

  int64_t rows() const { return rows_; }
  size_t size() const { return sub_pushes_.size(); }
  bool Takes(wire::Operation operation) const { return size() == 0 || operation == operation_; }

 private:
  struct TableWork {
    uint32_t id = 0;
    Table* table = nullptr;
    RowBatch rows;
  };
  // One table of one sub-push.
  struct Piece {
    size_t work = 0;  // index into works_
    size_t part = 0;  // index into its parts
  };
  struct Gathered {
    size_t begin = 0;  // pieces [begin, end)
    size_t end = 0;
  };

  wire::ErrorInfo GatherTable(const wire::SubPush& sub_push, const wire::SubPushTable& table,
                              const wire::Payload& part, size_t offset);
  wire::ErrorInfo CheckRows(const wire::SubPush& sub_push, Table& table, RowBatch& rows,
                            const RowBatch::Part& part) const;
  size_t WorkOf(uint32_t id, Table* table);
  absl::Status ResolveAll();
  void Undo(size_t first_piece);

  StrandState& state_;
  wire::Operation operation_ = wire::Operation::kPush;
  int64_t rows_ = 0;
  std::vector<Gathered> sub_pushes_;
  std::vector<Piece> pieces_;
  size_t works_used_ = 0;
  std::vector<std::unique_ptr<TableWork>> works_;        // kept, at most one a table of a message
  absl::flat_hash_map<uint32_t, size_t> work_of_table_;  // table id -> index into works_
};

}  // namespace hotrow
