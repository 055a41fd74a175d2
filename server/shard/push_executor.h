// PushExecutor: decides what becomes of each sub-push of a message that its strand owns, in their
// order.
//
//   check                                   when it fails                        number
//   session open, not fenced                whole message: kSessionLost          stays open
//   shard map, partition owned, epoch       kRetry / kStaleMap                   stays open
//   content hash recomputed                 kRetry / kDataLoss                   stays open
//   sequence: below the next one            kept answer, duplicate = true        was consumed
//             (with other bytes)            kRefused / kInvalidArgument          was consumed
//             above the next one            kRetry / kOutOfOrder                 stays open
//   tables, keys, values                    kRefused with the kind that fits     is consumed
//   room for new keys                       kApplied + kCapacityFull, keys named is consumed
//   rows on disk: not readable now          kRetry / kUnavailable                stays open
//                 damaged                   kRefused / kDataLoss                 is consumed
//
// What stays open may be sent again as it is. A client does that but for kStaleMap: with a static
// list of shards it would be fenced again, so that it gives its session up.
//
// Lengths are checked when the message is decoded, and the fences of the second line once before it
// is admitted to the queue (push_fence.h).
//
// A number that cannot be (a partition that does not exist, sequence 0) is kRefused too and
// consumes nothing.
//
// An answer that has left the ring of the last PushWindow::kAnswers is given as kApplied and
// duplicate without counts: that the number was consumed is all that is known of it. A skip of a
// consumed number is not a conflict: it gets the kept answer, for the number is closed, which is
// what it asked for.
//
// Thread safety: strand only. Results equal those of handling the sub-pushes one by one, but for
// which of several new keys get the last slots (see PushBatch).

#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "proto/wire/batch_codec.h"
#include "server/shard/push_batch.h"
#include "server/shard/shard_state.h"

namespace hotrow {

// A sub-push of a message and where its answer goes.
struct PushItem {
  const wire::SubPush* sub_push = nullptr;
  wire::SubPushResult* result = nullptr;
  size_t offset = 0;  // of its part in the payload
};

class PushExecutor {
 public:
  explicit PushExecutor(StrandState& state)
      : state_(state),
        counters_(state.shard.counters),
        batch_(state),
        pending_partitions_(state.partitions.count(), 0) {}

  // Answers the items, or returns why none of them is.
  wire::ErrorInfo Run(const wire::PushRequest& request, std::span<const PushItem> items,
                      std::chrono::steady_clock::time_point now);

 private:
  // A sub-push whose rows wait in batch_.
  struct Pending {
    const PushItem* item = nullptr;
    PushWindow* window = nullptr;

    const wire::SubPush& sub_push() const { return *item->sub_push; }
  };

  void Handle(const wire::PushRequest& request, const PushItem& item);
  void HandleNumbered(uint64_t session, const PushItem& item, const wire::Payload& part);
  void AnswerConsumed(uint64_t session, const wire::SubPush& sub_push, const PushWindow& window,
                      wire::SubPushResult* result);
  void Accept(const wire::Payload& part, const Pending& pending);
  void Flush();
  void FlushOneByOne();
  void AnswerApplied(size_t gathered, const Pending& pending);
  void AnswerFailed(const absl::Status& status, const Pending& pending);

  void Retry(wire::ErrorInfo error, wire::SubPushResult* result);
  void Refuse(wire::ErrorInfo error, wire::SubPushResult* result);

  StrandState& state_;
  ShardCounters& counters_;
  PushBatch batch_;
  const wire::Payload* payload_ = nullptr;   // of the message that is worked on
  std::vector<Pending> pending_;             // as many as batch_ holds, in its order
  std::vector<uint8_t> pending_partitions_;  // (P) 1: batch_ holds a sub-push of the partition
};

}  // namespace hotrow
