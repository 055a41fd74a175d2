// RowBatch: rows of one table, gathered from the sub-pushes of a message, to be worked on in one
// pass.
//
//   keys   k0 k1 k2 | k3 k4 k5 k6 | k7 ...
//   rows   r0 r1 r2 | r3 r4 r5 r6 | r7 ...     addresses in the received buffers
//          part 0     part 1        part 2      one part a sub-push
//
// Thread safety: one thread at a time. Ownership: rows point into the payloads that were appended;
// these must outlive the batch's use. Workspace is kept between uses, up to kKeptRows rows.
// Invariant: keys are unique. Within a part Append sees to it; the parts of a batch come from
// different partitions.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "kernels/dedupe/dedupe.h"
#include "kernels/optimizers/row_optimizer.h"
#include "kernels/row_store/row_store.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/payload.h"

namespace hotrow {

// What becomes of the rows of a key that a part holds more than once.
enum class Duplicates : uint8_t { kSum, kLastWins };

class RowBatch {
 public:
  static constexpr int64_t kKeptRows = 16384;

  struct Part {
    int64_t begin = 0;  // rows [begin, end) of the batch
    int64_t end = 0;
    StepOptions step;
    uint64_t lsn = 0;
    int64_t created = 0;  // results of Table's methods
    int64_t updated = 0;
    int64_t refused = 0;

    int64_t size() const { return end - begin; }
  };

  // Appends a part: table.key_count keys at byte `offset` of `payload`, then as many rows of
  // table.dim floats (none for dim 0). The payload is long enough.
  Part& Append(const wire::Payload& payload, size_t offset, const wire::SubPushTable& table,
               Duplicates duplicates);
  void DropLastPart();
  void Clear();

  std::span<const Key> keys() const { return keys_; }
  std::span<const Key> keys(const Part& part) const {
    return keys().subspan(part.begin, part.size());
  }
  std::span<const ConstRowPointer> rows() const { return rows_; }
  std::span<const ConstRowPointer> rows(const Part& part) const {
    return rows().subspan(part.begin, part.size());
  }
  std::span<Part> parts() { return parts_; }
  int64_t size() const { return static_cast<int64_t>(keys_.size()); }

  // Where each row was found or put, kNoSlot if refused, and 1 for those that are new; filled by
  // Table's methods.
  std::vector<Slot>& slots() { return slots_; }
  std::vector<uint8_t>& created() { return created_; }

 private:
  void Unite(Part& part, int64_t dim, Duplicates duplicates);

  std::vector<Key> keys_;              // (n)
  std::vector<ConstRowPointer> rows_;  // (n)
  std::vector<Part> parts_;
  std::vector<Slot> slots_;       // (n)
  std::vector<uint8_t> created_;  // (n)
  wire::RowLocator locator_;
  Deduper deduper_;
  DuplicateSummer summer_;
  std::vector<std::unique_ptr<float[]>> sums_;  // sums of parts with duplicates, until Clear
};

}  // namespace hotrow
