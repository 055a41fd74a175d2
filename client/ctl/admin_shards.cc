#include "client/ctl/admin_shards.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "client/src/grpc_process.h"
#include "client/src/shard_channel.h"
#include "proto/wire/shard_map.h"
#include "proto/wire/status_codec.h"

namespace hotrow::ctl {
namespace {

constexpr std::chrono::milliseconds kKeepalive(10'000);

uint64_t PartitionsOf(const v1::ShardMap& map, uint32_t shard) {
  uint64_t owned = 0;
  const auto shards = static_cast<uint32_t>(map.shards_size());
  for (uint32_t partition = 0; partition < map.partitions(); ++partition) {
    owned += wire::StaticOwner(partition, map.partitions(), shards) == shard ? 1 : 0;
  }
  return owned;
}

std::unique_ptr<v1::AdminService::Stub> Dial(const std::string& target) {
  return v1::AdminService::NewStub(client::MakeChannel(target, kKeepalive));
}

absl::StatusOr<v1::GetShardMapResponse> WhoIs(const Arguments& arguments,
                                              v1::AdminService::Stub& stub) {
  grpc::ClientContext context;
  SetDeadline(arguments, context);
  v1::GetShardMapResponse response;
  const grpc::Status status = stub.GetShardMap(&context, {}, &response);
  if (!status.ok()) return wire::FromGrpcStatus(status);
  return response;
}

absl::Status AnotherShard(const AdminShard& shard) {
  return client::NameShard(
      wire::ToStatus({.kind = wire::ErrorKind::kUnavailable,
                      .message = absl::StrCat("its admin listener is ", shard.admin,
                                              ", which from here is that of another shard"),
                      .hint = "Run hotrowctl on the machine of that shard, or name its admin "
                              "listener as it is reached from here with --admin."}),
      shard.shard, shard.address);
}

// Connects to the admin listener that the shard at shard.address names.
absl::Status Connect(const Arguments& arguments, AdminShard& shard) {
  auto stub = Dial(shard.address);
  const auto says = WhoIs(arguments, *stub);
  if (!says.ok()) return client::NameShard(says.status(), shard.shard, shard.address);
  shard.says = *says;
  shard.admin = AdminTarget(shard.address, says->admin_address());
  if (shard.admin != shard.address) {
    stub = Dial(shard.admin);
    const auto admin_says = WhoIs(arguments, *stub);
    if (!admin_says.ok()) {
      return client::NameShard(admin_says.status(), shard.shard, shard.admin);
    }
    if (admin_says->server_start_id() != says->server_start_id()) return AnotherShard(shard);
  }
  shard.stub = std::move(stub);
  return absl::OkStatus();
}

}  // namespace

void SetDeadline(const Arguments& arguments, grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(arguments.timeout_s));
}

absl::Status Named(const grpc::Status& status, const AdminShard& shard) {
  if (status.ok()) return absl::OkStatus();
  return client::NameShard(wire::FromGrpcStatus(status), shard.shard, shard.admin);
}

std::string AdminTarget(const std::string& address, const std::string& admin_address) {
  if (admin_address.empty()) return address;
  const size_t port = admin_address.rfind(':');
  const std::string host = admin_address.substr(0, port);
  const size_t own_port = address.rfind(':');
  const bool everywhere = host == "0.0.0.0" || host == "[::]";
  if (!everywhere || own_port == std::string::npos || address.starts_with("unix:")) {
    return admin_address;
  }
  return address.substr(0, own_port) + admin_address.substr(port);
}

absl::StatusOr<std::vector<AdminShard>> FindAdminShards(const Arguments& arguments) {
  if (absl::Status status = client::EnterGrpc(); !status.ok()) return status;
  const bool one = !arguments.admin.empty();
  const std::string& first = one ? arguments.admin : arguments.address;
  auto stub = Dial(first);
  auto says = WhoIs(arguments, *stub);
  if (!says.ok()) {
    return wire::MakeError(
        wire::ErrorKind::kUnavailable,
        absl::StrCat("no answer from ", first, ": ", wire::FromStatus(says.status()).message));
  }
  std::vector<AdminShard> shards;
  for (int number = 0; number < says->shard_map().shards_size(); ++number) {
    AdminShard& shard = shards.emplace_back();
    shard.shard = static_cast<uint32_t>(number);
    shard.address = says->shard_map().shards(number);
    shard.partitions = PartitionsOf(says->shard_map(), shard.shard);
    if (!one) shard.status = Connect(arguments, shard);
  }
  if (!one) return shards;
  if (says->shard() >= shards.size()) {
    return wire::MakeError(wire::ErrorKind::kInternal,
                           absl::StrCat(first, " says that it is no shard of its own map"));
  }
  AdminShard only = std::move(shards[says->shard()]);
  only.admin = first;
  only.says = *std::move(says);
  only.stub = std::move(stub);
  shards.clear();
  shards.push_back(std::move(only));
  return shards;
}

absl::StatusOr<AdminShard> FindAdminShard(const Arguments& arguments, uint32_t shard) {
  auto shards = FindAdminShards(arguments);
  if (!shards.ok()) return shards.status();
  for (AdminShard& found : *shards) {
    if (found.shard != shard) continue;
    if (!found.status.ok()) return found.status;
    return std::move(found);
  }
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kNotFound,
       .message = arguments.admin.empty()
                      ? absl::StrCat("there is no shard ", shard, " of ", shards->size())
                      : absl::StrCat(arguments.admin, " is shard ", shards->front().shard, ", not ",
                                     shard)});
}

}  // namespace hotrow::ctl
