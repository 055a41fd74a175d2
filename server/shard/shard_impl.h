// The inside of Shard, shared by shard.cc (data) and shard_admin.cc (control).
//
// Thread safety: constant and atomic members from any thread; the rest only in tasks of the strand.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "server/shard/pull_executor.h"
#include "server/shard/push_executor.h"
#include "server/shard/shard.h"
#include "server/shard/shard_state.h"
#include "server/shard/strand.h"

namespace hotrow {

struct Shard::Impl {
  Impl(const ShardOptions& options, uint64_t start_id)
      : state(options, start_id),
        pulls(state),
        pushes(state),
        strand(std::make_shared<Strand>(
            Strand::Limits{options.max_queued_requests, options.max_queued_bytes})) {}
  ~Impl() { strand->Stop(); }

  // Errors leave the shard with its number on them.
  wire::ErrorInfo Signed(wire::ErrorInfo error) const;
  absl::Status Signed(const absl::Status& status) const;

  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::atomic<bool> draining{false};  // set before the strand closes, so that refusals name it
  ShardState state;
  PullExecutor pulls;
  PushExecutor pushes;
  std::shared_ptr<Strand> strand;  // shared: scans in other hands may outlive the shard
};

}  // namespace hotrow
