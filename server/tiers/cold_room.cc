// Whether there is room on disk: for rows that are new, and for what RocksDB writes at all.

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/tiers/cold_store_impl.h"

namespace hotrow {
namespace {

constexpr std::chrono::milliseconds kRoomIsGoodFor{100};

absl::Status NoRoom(std::string message) {
  return wire::ToStatus({.kind = wire::ErrorKind::kCapacityFull,
                         .message = std::move(message),
                         .hint = "raise tiers.disk_budget, add disk, remove rows, or add shards"});
}

}  // namespace

absl::Status ColdStore::Impl::FreeSpace(int64_t* bytes) const {
  if (options.free_bytes) {
    *bytes = options.free_bytes();
    return absl::OkStatus();
  }
  struct statvfs system{};
  if (statvfs(options.path.c_str(), &system) != 0) {
    return wire::MakeError(
        wire::ErrorKind::kUnavailable,
        fmt::format("asking for the free space of {}: {}", options.path, std::strerror(errno)));
  }
  *bytes = static_cast<int64_t>(system.f_bavail) * static_cast<int64_t>(system.f_frsize);
  return absl::OkStatus();
}

absl::Status ColdStore::Impl::CheckSpace(const Need& need) const {
  int64_t free = 0;
  if (absl::Status status = FreeSpace(&free); !status.ok()) return status;
  // What lies in write buffers needs its place too.
  const int64_t buffered = Property(rocksdb::DB::Properties::kCurSizeAllMemTables);
  if (free - need.bytes - buffered >= need.spare) return absl::OkStatus();
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kUnavailable,
       .message = fmt::format("the file system of {} has {} bytes left, too few to write rows",
                              options.path, free),
       .hint = "make room on the shard's disk; rows that wait are written by themselves then"});
}

absl::Status ColdStore::HasRoom() const {
  const auto now = std::chrono::steady_clock::now();
  MutexLock lock(impl_->mutex);
  if (now - impl_->room_asked < kRoomIsGoodFor) return impl_->room;
  impl_->room_asked = now;
  int64_t free = 0;
  impl_->room = impl_->FreeSpace(&free);
  if (!impl_->room.ok()) return impl_->room;
  const int64_t used = impl_->Property(rocksdb::DB::Properties::kTotalSstFilesSize) +
                       impl_->Property(rocksdb::DB::Properties::kCurSizeAllMemTables);
  if (used >= impl_->options.disk_budget_bytes) {
    impl_->room = NoRoom(fmt::format("the cold tier has used {} bytes, its disk budget",
                                     impl_->options.disk_budget_bytes));
  } else if (free < impl_->options.reserve_bytes) {
    impl_->room =
        NoRoom(fmt::format("the file system of {} has {} bytes left", impl_->options.path, free));
  }
  return impl_->room;
}

}  // namespace hotrow
