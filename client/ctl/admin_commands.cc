#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/admin_shards.h"
#include "client/ctl/commands.h"
#include "client/src/client_error.h"
#include "proto/wire/status_codec.h"

namespace hotrow::ctl {
namespace {

std::string TimeText(uint64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
  char text[48];
  std::snprintf(text, sizeof(text), "%s.%03uZ", date, static_cast<unsigned>(milliseconds % 1000));
  return text;
}

std::string Milliseconds(uint64_t microseconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", static_cast<double>(microseconds) / 1000);
  return text;
}

Field StagesField(const v1::SlowCall& call) {
  std::string text;
  std::string json = "{";
  for (const v1::StageTime& stage : call.stages()) {
    const std::string time = Milliseconds(stage.duration_us());
    absl::StrAppend(&text, text.empty() ? "" : ", ", stage.stage(), " ", time);
    absl::StrAppend(&json, json.size() == 1 ? "" : ", ", JsonString(stage.stage()), ": ", time);
  }
  return {"stages_ms", text, json + "}"};
}

Record SlowRecord(uint32_t shard, const v1::SlowCall& call) {
  const std::string duration = Milliseconds(call.duration_us());
  return {Text("time", TimeText(call.answered_ms())),
          Count("shard", shard),
          Text("rpc", call.method()),
          Text("code", call.code()),
          {"duration_ms", duration, duration},
          StagesField(call),
          Count("keys", call.keys()),
          Bytes("received_bytes", call.received_bytes()),
          Bytes("sent_bytes", call.sent_bytes()),
          Count("request_id", call.request_id()),
          Text("peer", call.peer()),
          Text("trace_id", call.trace_id())};
}

// One call to a shard within the time of the command; errors name the shard.
template <typename Request, typename Response>
absl::StatusOr<Response> Call(const Arguments& arguments, const AdminShard& shard,
                              grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                              const Request& request) {
  grpc::ClientContext context;
  SetDeadline(arguments, context);
  Response response;
  const grpc::Status status = ((*shard.stub).*method)(&context, request, &response);
  if (!status.ok()) return Named(status, shard);
  return response;
}

// Of one shard: asks it and adds its calls.
absl::Status AskSlowCalls(const Arguments& arguments, const AdminShard& shard,
                          std::vector<std::pair<uint32_t, v1::SlowCall>>& calls) {
  if (!shard.status.ok()) return shard.status;
  v1::GetSlowCallsRequest request;
  request.set_limit(arguments.limit);
  auto response = Call(arguments, shard, &v1::AdminService::Stub::GetSlowCalls, request);
  if (!response.ok()) return response.status();
  if (response->threshold_ms() == 0) {
    std::fprintf(stderr, "shard %u logs no slow calls: its log.slow_call is 0\n", shard.shard);
  }
  for (v1::SlowCall& call : *response->mutable_calls()) {
    calls.emplace_back(shard.shard, std::move(call));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DropOn(const Arguments& arguments, const AdminShard& shard) {
  v1::DropTableRequest request;
  request.set_name(arguments.table);
  const auto response = Call(arguments, shard, &v1::AdminService::Stub::DropTable, request);
  if (!response.ok()) return response.status();
  return response->rows();
}

// How many partitions are a shard's is known of one that does not answer too: the map is the first
// one's. It may have answered on its own listener, and not on that for admin calls.
Record ShardRecord(const AdminShard& shard) {
  const v1::ShardMap& map = shard.says.shard_map();
  const bool said = map.shards_size() > 0;
  const std::string start_id =
      absl::StrCat(absl::Hex(shard.says.server_start_id(), absl::kZeroPad16));
  return {Count("shard", shard.shard),
          Text("address", shard.address),
          shard.admin.empty() ? Unknown("admin") : Text("admin", shard.admin),
          Text("state", shard.stub != nullptr ? "answers" : "unreachable"),
          Count("partitions", shard.partitions),
          said ? Text("cluster_id", shard.says.cluster_id()) : Unknown("cluster_id"),
          said ? Count("map_version", map.version()) : Unknown("map_version"),
          said ? Count("timeline", map.timeline()) : Unknown("timeline"),
          said ? Text("start_id", start_id) : Unknown("start_id")};
}

absl::Status NotSure(const Arguments& arguments) {
  return client::InvalidInput(
      arguments.table, absl::StrCat("dropping table '", arguments.table, "' loses all its rows"),
      "Say --yes when that is meant.");
}

}  // namespace

absl::Status ShowShards(const Arguments& arguments) {
  const auto shards = FindAdminShards(arguments);
  if (!shards.ok()) return shards.status();
  std::vector<Record> records;
  absl::Status first;
  for (const AdminShard& shard : *shards) {
    first.Update(shard.status);
    records.push_back(ShardRecord(shard));
  }
  Print(records, arguments.format);
  return first;
}

absl::Status ShowSlowCalls(const Arguments& arguments) {
  const auto shards = FindAdminShards(arguments);
  if (!shards.ok()) return shards.status();
  std::vector<std::pair<uint32_t, v1::SlowCall>> calls;
  absl::Status first;
  for (const AdminShard& shard : *shards) {
    const absl::Status status = AskSlowCalls(arguments, shard, calls);
    if (status.ok()) continue;
    // Said beside the records: a shard without any must not be taken for one without slow calls.
    if (!first.ok()) Complain(status);  // the first one is told at the end
    first.Update(status);
  }
  std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    return std::pair(b.second.answered_ms(), a.first) < std::pair(a.second.answered_ms(), b.first);
  });
  if (arguments.limit > 0 && calls.size() > arguments.limit) calls.resize(arguments.limit);
  std::vector<Record> records;
  for (const auto& [shard, call] : calls) records.push_back(SlowRecord(shard, call));
  Print(records, arguments.format);
  return first;
}

absl::Status DrainShard(const Arguments& arguments) {
  const auto shard = FindAdminShard(arguments, arguments.shard);
  if (!shard.ok()) return shard.status();
  grpc::ClientContext context;
  // The shard answers when it is drained or its own time is over, and then says so.
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(arguments.timeout_s + 1));
  v1::DrainRequest request;
  request.set_timeout_ms(static_cast<uint32_t>(arguments.timeout_s) * 1000);
  v1::DrainResponse response;
  const absl::Status status = Named(shard->stub->Drain(&context, request, &response), *shard);
  if (!status.ok()) return status;
  Print(
      {{Count("shard", shard->shard), Text("address", shard->address), Text("state", "draining")}},
      arguments.format);
  return absl::OkStatus();
}

// What some shards have forgotten is dropped on the others. The owner of partition 0 last: until
// then it says that the table is there. With --admin on that one shard: for listeners that only
// their own machine reaches.
absl::Status DropTable(const Arguments& arguments) {
  if (!arguments.yes) return NotSure(arguments);
  const auto shards = FindAdminShards(arguments);
  if (!shards.ok()) return shards.status();
  for (const AdminShard& shard : *shards) {
    if (!shard.status.ok()) return shard.status;
  }
  uint64_t rows = 0;
  bool found = false;
  absl::Status missing;
  for (size_t i = 1; i <= shards->size(); ++i) {
    // Shard 0 owns partition 0 in a static map.
    const absl::StatusOr<uint64_t> dropped = DropOn(arguments, (*shards)[i % shards->size()]);
    if (dropped.ok()) {
      found = true;
      rows += *dropped;
    } else if (absl::IsNotFound(dropped.status())) {
      missing = dropped.status();
    } else {
      return dropped.status();
    }
  }
  if (!found) return missing;
  Print({{Text("table", arguments.table), Count("rows_dropped", rows),
          Count("shards", shards->size())}},
        arguments.format);
  return absl::OkStatus();
}

}  // namespace hotrow::ctl
