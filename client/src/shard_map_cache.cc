#include "client/src/shard_map_cache.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/ask_shards.h"
#include "client/src/backoff.h"
#include "client/src/client_error.h"
#include "client/src/interruptible.h"
#include "client/src/shard_channel.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

// One address that swallows packets must not use up the time of the others.
constexpr milliseconds kAttemptTimeout{3000};

absl::StatusOr<Cluster> ClusterOf(const v1::GetShardMapResponse& response) {
  absl::StatusOr<wire::ShardMap> map = wire::ShardMap::FromProto(response.shard_map());
  if (!map.ok()) return map.status();
  return Cluster{*std::move(map), response.cluster_id()};
}

absl::StatusOr<Cluster> Ask(v1::AdminService::Stub& stub, TimePoint deadline) {
  const auto answers = AskAll<v1::GetShardMapResponse>(
      1, std::min(deadline, Now() + kAttemptTimeout),
      [&](size_t, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return stub.AsyncGetShardMap(context, {}, queue);
      });
  if (!answers[0].ok()) return answers[0].status();
  return ClusterOf(*answers[0]);
}

absl::Status NoneAnswered(const ConnectOptions& options, const std::vector<std::string>& causes) {
  std::string message = "no shard answered within the deadline";
  for (size_t i = 0; i < causes.size(); ++i) {
    absl::StrAppend(&message, i == 0 ? ": " : "; ", options.addresses[i], " (", causes[i], ")");
  }
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kUnavailable,
       .message = message,
       .hint = "Check that hotrow-server runs there and listens on that address."});
}

// More addresses than shards, and one that the map does not know: two servers that were each
// started without a list of shards are two clusters of one, and half of the rows would silently go
// nowhere.
absl::Status CheckAddresses(const ConnectOptions& options, const wire::ShardMap& map) {
  const std::vector<std::string>& shards = map.shards();
  if (options.addresses.size() <= shards.size()) return absl::OkStatus();
  for (const std::string& address : options.addresses) {
    if (std::find(shards.begin(), shards.end(), address) != shards.end()) continue;
    return wire::ToStatus(
        {.kind = wire::ErrorKind::kInvalidArgument,
         .message = absl::StrCat("'", address, "' was given, but the shard map of the cluster has ",
                                 shards.size(), " shard(s): ", absl::StrJoin(shards, ", ")),
         .hint = "Start every server with the same --shards list and its own --shard number."});
  }
  return absl::OkStatus();
}

}  // namespace

std::string DialTarget(const ConnectOptions& options, const std::string& address) {
  const auto mapped = options.address_map.find(address);
  return mapped == options.address_map.end() ? address : mapped->second;
}

absl::StatusOr<Cluster> FetchShardMap(const ConnectOptions& options, TimePoint deadline) {
  std::vector<std::unique_ptr<v1::AdminService::Stub>> stubs;
  for (const std::string& address : options.addresses) {
    stubs.push_back(
        v1::AdminService::NewStub(MakeChannel(DialTarget(options, address), options.keepalive)));
  }
  std::vector<std::string> causes(stubs.size(), "no answer");
  absl::Status refused;  // the first address that will never answer, which is not asked again
  size_t hopeful = stubs.size();
  for (int attempt = 1;; ++attempt) {
    for (size_t i = 0; i < stubs.size() && Now() < deadline; ++i) {
      if (stubs[i] == nullptr) continue;
      absl::StatusOr<Cluster> cluster = Ask(*stubs[i], deadline);
      if (cluster.ok()) {
        const absl::Status checked = CheckAddresses(options, cluster->map);
        if (!checked.ok()) return checked;
        return cluster;
      }
      // An attempt that the deadline cut short knows less than the one before.
      if (attempt == 1 || Now() < deadline) causes[i] = std::string(cluster.status().message());
      const wire::ErrorInfo error = wire::FromStatus(cluster.status());
      if (IsTransient(error.kind)) continue;
      refused.Update(wire::ToStatus(error));
      stubs[i] = nullptr;
      --hopeful;
    }
    if (hopeful == 0) return refused;
    const milliseconds left = TimeLeft(deadline);
    const bool once = options.access == Access::kInspect;  // whoever looks wants to know now
    if (once || left.count() == 0 || !SleepFor(std::min(left, Backoff(attempt + 2)))) {
      return NoneAnswered(options, causes);
    }
  }
}

}  // namespace hotrow::client
