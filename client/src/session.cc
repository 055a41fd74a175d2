#include "client/src/session.h"

#include <iterator>
#include <random>
#include <utility>

#include "client/src/client_error.h"
#include "client/src/interruptible.h"
#include "hotrow/v1/parameter_service.pb.h"
#include "proto/wire/hashes.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

constexpr uint64_t kRestartCount = 1;

std::array<std::byte, 16> RandomUid() {
  std::random_device random;
  std::array<std::byte, 16> uid;
  for (std::byte& byte : uid) byte = static_cast<std::byte>(random());
  return uid;
}

}  // namespace

Session::Session(Worker worker, uint32_t partitions)
    : worker_(std::move(worker)),
      client_uid_(RandomUid()),
      id_(wire::SessionId(client_uid_, kRestartCount)),
      next_sequence_(partitions, 1),
      owner_epoch_(partitions, 0) {}

v1::OpenSessionRequest Session::OpenRequest() const {
  v1::OpenSessionRequest request;
  request.set_client_uid(client_uid_.data(), client_uid_.size());
  request.set_restart_count(kRestartCount);
  request.set_session(id_);
  request.set_job(worker_.job);
  request.set_rank(worker_.rank);
  request.set_world_size(worker_.world_size);
  request.set_mode(v1::STEP_MODE_ASYNC);
  return request;
}

void Session::SetOwnerEpoch(uint32_t partition, uint64_t epoch) {
  MutexLock lock(mutex_);
  owner_epoch_[partition] = epoch;
}

absl::Status Session::Number(const std::vector<wire::SubPush*>& sub_pushes,
                             const std::function<void()>& enqueue) {
  MutexLock lock(mutex_);
  if (!lost_.ok()) return lost_;
  for (wire::SubPush* sub_push : sub_pushes) {
    sub_push->sequence = next_sequence_[sub_push->partition]++;
    sub_push->owner_epoch = owner_epoch_[sub_push->partition];
  }
  enqueue();
  return absl::OkStatus();
}

uint64_t Session::Begin() {
  MutexLock lock(mutex_);
  pending_.insert(++last_begun_);
  return last_begun_;
}

void Session::Finished(uint64_t push) {
  MutexLock lock(mutex_);
  const bool oldest = *pending_.begin() == push;
  pending_.erase(push);
  if (oldest) advanced_.NotifyAll();
}

uint64_t Session::last_begun() const {
  MutexLock lock(mutex_);
  return last_begun_;
}

int64_t Session::WaitUntilFinished(uint64_t last, TimePoint deadline) {
  MutexLock lock(mutex_);
  const auto over = [&]() HOTROW_REQUIRES(mutex_) {
    return pending_.empty() || *pending_.begin() > last;
  };
  while (!over()) {
    if (!WaitUntil(advanced_, mutex_, deadline) && !over()) {
      return std::distance(pending_.begin(), pending_.upper_bound(last));
    }
  }
  return 0;
}

void Session::MarkLost(const absl::Status& cause) {
  MutexLock lock(mutex_);
  if (lost_.ok()) lost_ = PushesCannotGoOn(wire::FromStatus(cause));
}

absl::Status Session::lost() const {
  MutexLock lock(mutex_);
  return lost_;
}

}  // namespace hotrow::client
