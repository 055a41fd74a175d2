// Tier: whole rows of one table in one kind of memory, in batches.
//
// Rows travel as records (RowLayout) with their score. Above the lowest tier a row is in one tier
// only; the cold tier may also keep an older or equal copy of a row that lies above it, and the
// flags of the row say so (kRowDirty, kRowBelow).
//
// Thread safety: single writer; the strand that owns the table calls every method.
// Shapes: all spans of a batch have one length; keys of a batch are unique. Records have row_bytes.
// Errors: kDataLoss when a stored row is damaged, kUnavailable when it cannot be read or written
// now; a row that is not there is no error.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/key.h"
#include "kernels/row_store/row_block.h"
#include "server/tiers/row_range.h"

namespace hotrow {

// Where rows are to be put that a tier has. (n) each.
struct RowTargets {
  std::span<const Key> keys;
  std::span<std::byte* const> records;
  std::span<uint32_t> scores;

  size_t size() const { return keys.size(); }
};

// Rows to be taken in. (n) each.
struct RowSources {
  std::span<const Key> keys;
  std::span<const std::byte* const> records;
  std::span<const uint32_t> scores;

  size_t size() const { return keys.size(); }
};

struct TierSize {
  int64_t rows = 0;
  int64_t used_bytes = 0;  // of memory or disk, index and what is not in use yet included
};

// What becomes of the tier's own copy of a row that is looked up.
enum class Lookup : uint8_t {
  kCopy,  // stays
  kMove,  // is taken out, as the caller is the one to keep it; a cold tier keeps its copy below
};

enum class Patience : uint8_t { kNone, kBounded };

class Tier {
 public:
  virtual ~Tier() = default;

  virtual std::string_view name() const = 0;  // "hot", "warm" or "cold"

  // Fills the targets of the rows that it has; found[i] is 1 for those and 0 for the others. After
  // an error no target and no flag counts, and nothing has been taken out.
  virtual absl::Status Find(const RowTargets& rows, Lookup lookup, std::span<uint8_t> found) = 0;
  // Whether rows that no tier has yet may come to rest here. kCapacityFull with the reason when the
  // tier is near its end; rows that are known are taken in all the same.
  virtual absl::Status MayGrow() = 0;
  // After success the next Upserts and Removes of at most `rows` rows together succeed. May wait
  // for a disk, for a bounded time, when it is asked to.
  virtual absl::Status MakeRoom(int64_t rows, Patience patience) = 0;
  // Takes the rows in, newer versions than any it has, after MakeRoom. `displaced` gets those that
  // had to leave for them, or found no place; the lowest tier displaces none.
  virtual void Upsert(const RowSources& rows, RowBlock* displaced) = 0;
  // Forgets rows that it has: Find has said so, or the flags of the row above.
  virtual void Remove(std::span<const Key> keys) = 0;

  // All rows, each once, in no order that matters. A cold tier shows them as they are now; the rows
  // of one in memory may not change before the walk has ended.
  virtual absl::StatusOr<std::unique_ptr<RowRange>> Scan() = 0;

  virtual TierSize Size() const = 0;
};

}  // namespace hotrow
