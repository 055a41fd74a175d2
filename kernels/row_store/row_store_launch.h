// The operations of a device's row store, as launches on a stream.
//
// Thread safety: that of the stream; of one store, everything on one stream. Ownership: nothing;
// all pointers are device memory that stays until the work is done. Shapes: batches of n >= 0 keys,
// arrays (n); n = 0 launches nothing. Errors: kInvalidArgument for sizes and pointers that cannot
// be, before anything is launched; else what the stream answers.

#pragma once

#include <cstdint>

#include "kernels/base/result.h"
#include "kernels/row_store/device_claim.h"
#include "kernels/row_store/row_store.h"
#include "kernels/row_store/slot_index.h"
#include "kernels/space/device_stream.h"

namespace hotrow {

// Keys of one batch: 32 bits hold a place.
inline constexpr int64_t kMaxDeviceBatch = (int64_t{1} << 31) - 1;

struct DeviceKeys {
  const Key* keys = nullptr;
  Slot* slots = nullptr;
  int64_t n = 0;
};

// slots[i] = slot of keys[i], or kNoSlot.
Result LaunchFind(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch);

// The same, and copies the weights of found keys to rows[i] (n pointers to dim floats at 4-byte
// boundaries). Rows of unknown keys are left as they are.
Result LaunchFindAndCopy(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                         const RowPointer* rows, int64_t dim);

// Copies the weights of slots[i] to rows[i]; kNoSlot is skipped. batch.keys is not read.
Result LaunchCopyWeights(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                         const RowPointer* rows, int64_t dim);

// records[i] = address of the record of slots[i], null for kNoSlot: what the optimizers take.
Result LaunchRecordAddresses(DeviceStream& stream, const SlotIndexView& index,
                             const DeviceKeys& batch, std::byte** records);

Result LaunchSetScores(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                       uint32_t score);

// Removes keys; *removed (one number in device memory) becomes how many. batch.slots is scratch.
Result LaunchErase(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                   int64_t* removed);

// FindOrClaim of row_store.h, but for growth: slots, and states as `created`. *claim.totals says
// what was done. claim.reservations.round is the last round used, and moves on by
// kRoundsPerClaim. Under kEvictLowestScore the rows that leave go to claim.evicted.
inline constexpr uint32_t kRoundsPerClaim = 8;
Result LaunchFindOrClaim(DeviceStream& stream, FullPolicy policy, DeviceClaim* claim);

// Adds the sets index->sets .. sets - 1, whose memory is there, and moves rows to them.
Result LaunchGrow(DeviceStream& stream, int64_t sets, SlotIndexView* index);

}  // namespace hotrow
