#include <algorithm>

#include "kernels/row_store/row_store_launch.h"
#include "kernels/row_store/store_stages.h"
#include "kernels/space/cuda_space.cuh"

namespace hotrow {
namespace {

// A set's digests are one 32-byte sector: eight lanes of one word each.
constexpr int kProbeLanes = 8;
// A row of 128 float32 is one 16-byte word a lane.
constexpr int kRowLanes = 32;

constexpr Result Refuse(const char* message) { return {Code::kInvalidArgument, message}; }

Result Check(const SlotIndexView& index, const DeviceKeys& batch) {
  if (batch.n < 0 || batch.n > kMaxDeviceBatch) return Refuse("a batch has 0 to 2^31 - 1 keys");
  if (index.sets < 1 || index.row_bytes < 1) return Refuse("a row store has at least one set");
  if (batch.n > 0 && batch.slots == nullptr) return Refuse("a batch needs memory for its slots");
  return {};
}

Result CheckKeys(const SlotIndexView& index, const DeviceKeys& batch) {
  if (batch.n > 0 && batch.keys == nullptr) return Refuse("a batch needs memory for its keys");
  return Check(index, batch);
}

Result CheckRows(const SlotIndexView& index, int64_t n, const RowPointer* rows, int64_t dim) {
  if (dim < 1 || dim > index.row_bytes / static_cast<int64_t>(sizeof(float))) {
    return Refuse("dim is not that of the row store");
  }
  return n > 0 && rows == nullptr ? Refuse("a batch needs places for its rows") : Result();
}

Result CheckClaim(FullPolicy policy, const DeviceClaim& claim) {
  const ReservationView& words = claim.reservations;
  if (claim.n > 0 &&
      (claim.batch.states == nullptr || claim.waiting_in == nullptr || claim.totals == nullptr)) {
    return Refuse("a claim needs memory for states, chunks and totals");
  }
  if (words.words == nullptr || (words.mask & (words.mask + 1)) != 0) {
    return Refuse("the words of reservations are a power of two");
  }
  if (words.round > UINT32_MAX - kRoundsPerClaim) {
    return Refuse("rounds are used up: zero the reservations and begin at 0");
  }
  const EvictedView& evicted = claim.evicted;
  if (policy == FullPolicy::kEvictLowestScore && claim.n > 0 &&
      (evicted.evicted == nullptr || evicted.keys == nullptr || evicted.records == nullptr)) {
    return Refuse("a claim that may evict needs memory for the rows that leave");
  }
  return CheckKeys(claim.index, {claim.batch.keys, claim.batch.slots, claim.n});
}

// Rounds of stages in which the keys in `state` take their turn.
template <typename Turn>
Result LaunchRounds(const CudaSpace& space, ClaimState state, DeviceClaim* claim) {
  for (int round = 0; round < kClaimRounds; ++round) {
    ++claim->reservations.round;
    HOTROW_RETURN_IF_ERROR(space.Run<kProbeLanes>(claim->n, ReserveStage{*claim, state}));
    HOTROW_RETURN_IF_ERROR(space.Run<kProbeLanes>(claim->n, Turn{*claim}));
  }
  return {};
}

Result LaunchCount(const CudaSpace& space, const DeviceClaim& claim) {
  HOTROW_RETURN_IF_ERROR(space.stream().Zero(claim.totals, 2 * sizeof(int64_t)));
  return space.Run<kRowLanes>(ClaimChunks(claim.n), CountClaimStage{claim});
}

}  // namespace

Result LaunchFind(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch) {
  HOTROW_RETURN_IF_ERROR(CheckKeys(index, batch));
  return CudaSpace(stream).Run<kProbeLanes>(batch.n, FindStage{index, batch.keys, batch.slots});
}

Result LaunchFindAndCopy(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                         const RowPointer* rows, int64_t dim) {
  HOTROW_RETURN_IF_ERROR(CheckKeys(index, batch));
  HOTROW_RETURN_IF_ERROR(CheckRows(index, batch.n, rows, dim));
  return CudaSpace(stream).Run<kProbeLanes>(
      batch.n, FindAndCopyStage{{index, batch.keys, batch.slots}, rows, dim});
}

Result LaunchCopyWeights(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                         const RowPointer* rows, int64_t dim) {
  HOTROW_RETURN_IF_ERROR(Check(index, batch));
  HOTROW_RETURN_IF_ERROR(CheckRows(index, batch.n, rows, dim));
  return CudaSpace(stream).Run<kRowLanes>(batch.n, CopyWeightsStage{index, batch.slots, rows, dim});
}

Result LaunchRecordAddresses(DeviceStream& stream, const SlotIndexView& index,
                             const DeviceKeys& batch, std::byte** records) {
  HOTROW_RETURN_IF_ERROR(Check(index, batch));
  if (batch.n > 0 && records == nullptr) return Refuse("a batch needs places for its records");
  return CudaSpace(stream).Run<1>(batch.n, RecordAddressStage{index, batch.slots, records});
}

Result LaunchSetScores(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                       uint32_t score) {
  HOTROW_RETURN_IF_ERROR(Check(index, batch));
  return CudaSpace(stream).Run<1>(batch.n, SetScoreStage{index, batch.slots, score});
}

Result LaunchErase(DeviceStream& stream, const SlotIndexView& index, const DeviceKeys& batch,
                   int64_t* removed) {
  HOTROW_RETURN_IF_ERROR(CheckKeys(index, batch));
  if (removed == nullptr) return Refuse("an erase needs a place for its count");
  HOTROW_RETURN_IF_ERROR(stream.Zero(removed, sizeof(*removed)));
  HOTROW_RETURN_IF_ERROR(LaunchFind(stream, index, batch));
  return CudaSpace(stream).Run<1>(batch.n, VacateStage{index, batch.slots, removed});
}

Result LaunchFindOrClaim(DeviceStream& stream, FullPolicy policy, DeviceClaim* claim) {
  HOTROW_RETURN_IF_ERROR(CheckClaim(policy, *claim));
  if (claim->n == 0) return {};
  const CudaSpace space(stream);
  const bool may_evict = policy == FullPolicy::kEvictLowestScore;
  claim->limits = DisplaceLimits::For(claim->index.sets * claim->index.slots_per_set, may_evict);
  HOTROW_RETURN_IF_ERROR(stream.Zero(claim->totals, sizeof(*claim->totals)));
  HOTROW_RETURN_IF_ERROR(space.Run<kProbeLanes>(claim->n, StartClaimStage{*claim}));
  HOTROW_RETURN_IF_ERROR(LaunchRounds<ClaimReservedStage>(space, kClaimWaiting, claim));
  HOTROW_RETURN_IF_ERROR(LaunchCount(space, *claim));
  HOTROW_RETURN_IF_ERROR(space.Run<1>(claim->n, PinStage{*claim}));
  HOTROW_RETURN_IF_ERROR(space.Run<kRowLanes>(1, ClaimInOrderStage{*claim}));
  if (may_evict) {
    HOTROW_RETURN_IF_ERROR(LaunchRounds<EvictReservedStage>(space, kClaimFull, claim));
    HOTROW_RETURN_IF_ERROR(space.Run<kRowLanes>(1, EvictInOrderStage{*claim}));
  }
  HOTROW_RETURN_IF_ERROR(space.Run<1>(claim->n, UnpinStage{*claim}));
  HOTROW_RETURN_IF_ERROR(LaunchCount(space, *claim));
  return space.Run<1>(claim->n, FinishClaimStage{*claim});
}

Result LaunchGrow(DeviceStream& stream, int64_t sets, SlotIndexView* index) {
  if (sets < index->sets || index->sets < 1) return Refuse("a row store grows from its sets on");
  const CudaSpace space(stream);
  while (index->sets < sets) {
    // To the end of a level: only there do new sets take rows from others that are new.
    const int64_t first = index->sets;
    const int64_t level_end = int64_t{2} << HighestBit(static_cast<uint64_t>(first));
    SlotIndexView grown = *index;
    grown.SetCount(std::min(sets, level_end));
    HOTROW_RETURN_IF_ERROR(space.Run<kRowLanes>(grown.sets - first, SplitStage{grown, first}));
    *index = grown;
  }
  return {};
}

}  // namespace hotrow
