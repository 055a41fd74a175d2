#include "client/src/table_admin.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/schema.h"

namespace hotrow::client {
namespace {

constexpr std::chrono::seconds kIdentityTimeout(2);

Channels Authority(ClientCore& core) { return core.channels().subspan(core.map().owner(0), 1); }

std::vector<absl::StatusOr<v1::CreateTableResponse>> AskCreate(
    Channels channels, TimePoint deadline, const v1::CreateTableRequest& request) {
  return AskShards<v1::CreateTableResponse>(
      channels, deadline,
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncCreateTable(context, request, queue);
      });
}

// Creates what the authority has created on every shard, under the same id.
absl::StatusOr<TableInfo> Spread(ClientCore& core, const v1::TableDescription& table,
                                 TimePoint deadline) {
  v1::CreateTableRequest request;
  *request.mutable_schema() = table.schema();
  request.set_table_id(table.table_id());
  request.set_exist_ok(true);
  const auto answers = AskCreate(core.channels(), deadline, request);
  const absl::Status status = FirstError(answers);
  if (!status.ok()) return status;
  absl::StatusOr<TableInfo> info = InfoFromProto(table);
  if (!info.ok()) return info;
  for (const auto& answer : answers) {
    info->highest_step = std::max(info->highest_step, answer->table().highest_step());
  }
  return info;
}

// A shard that lacks a table that the authority has would answer initial values for stored rows.
absl::Status MissingOn(const ShardChannel& shard, const TableInfo& table) {
  const std::string& name = table.schema.name;
  const wire::ErrorInfo error = {
      .kind = wire::ErrorKind::kNotFound,
      .message = absl::StrCat("table '", name, "' is not on this shard with the id ",
                              table.table_id, " that the other shards know it by"),
      .hint =
          "The shard was restarted, or the table made anew elsewhere: its rows there are gone. "
          "create_table(exist_ok=True) makes the missing part anew.",
      .table = name};
  return NameShard(wire::ToStatus(error), shard.shard(), shard.address());
}

// The calls that lose rows may be served in one place only, which need not be reached from here.
// Nothing may be dropped anywhere when that is so of one shard.
absl::Status CheckDropsHere(ClientCore& core, const std::string& table) {
  const auto answers = AskShards<v1::GetShardMapResponse>(
      core.channels(), core.DeadlineOf(std::nullopt),
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncGetShardMap(context, {}, queue);
      });
  if (absl::Status status = FirstError(answers); !status.ok()) return status;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::string& admin = answers[i]->admin_address();
    if (admin.empty()) continue;
    const ShardChannel& shard = *core.channels()[i];
    const wire::ErrorInfo error = {
        .kind = wire::ErrorKind::kPermissionDenied,
        .message = absl::StrCat("drops tables on its admin listener only, ", admin,
                                "; nothing was dropped on any shard"),
        .hint = absl::StrCat("Drop it as an operator does: hotrowctl --address ", shard.address(),
                             " drop ", table, " --yes, or hotrowctl --admin ", admin, " drop ",
                             table, " --yes for each shard on its own machine."),
        .table = table};
    return NameShard(wire::ToStatus(error), shard.shard(), shard.address());
  }
  return absl::OkStatus();
}

TableStatistics FromProto(const v1::TableStats& proto) {
  return {.name = proto.name(),
          .rows = proto.rows(),
          .used_bytes = proto.used_bytes(),
          .allocated_bytes = proto.allocated_bytes(),
          .rows_pulled = proto.rows_pulled(),
          .rows_pulled_initial = proto.rows_pulled_initial(),
          .rows_pushed = proto.rows_pushed(),
          .rows_created = proto.rows_created(),
          .rows_refused = proto.rows_refused(),
          .gradients_refused = proto.gradients_refused(),
          .highest_step = proto.highest_step()};
}

void Add(const TableStatistics& shard, TableStatistics& sum) {
  sum.rows += shard.rows;
  sum.used_bytes += shard.used_bytes;
  sum.allocated_bytes += shard.allocated_bytes;
  sum.rows_pulled += shard.rows_pulled;
  sum.rows_pulled_initial += shard.rows_pulled_initial;
  sum.rows_pushed += shard.rows_pushed;
  sum.rows_created += shard.rows_created;
  sum.rows_refused += shard.rows_refused;
  sum.gradients_refused += shard.gradients_refused;
  sum.highest_step = std::max(sum.highest_step, shard.highest_step);
}

void Fill(const v1::GetStatsResponse& proto, ShardStatus& status) {
  status.version = proto.version();
  status.state = proto.state();
  status.uptime_ms = proto.uptime_ms();
  status.memory_used_bytes = proto.memory_used_bytes();
  status.memory_budget_bytes = proto.memory_budget_bytes();
  status.sessions = proto.sessions();
  status.pull_requests = proto.pull_requests();
  status.push_requests = proto.push_requests();
  status.sub_pushes_applied = proto.sub_pushes_applied();
  status.sub_pushes_duplicate = proto.sub_pushes_duplicate();
  status.requests_failed = proto.requests_failed();
  for (const v1::TableStats& table : proto.tables()) status.tables.push_back(FromProto(table));
}

}  // namespace

absl::StatusOr<TableInfo> CreateTable(ClientCore& core, const TableSchema& schema, bool exist_ok) {
  absl::Status status = ValidateSchema(schema);
  if (!status.ok()) return status;
  const TimePoint deadline = core.DeadlineOf(std::nullopt);
  v1::CreateTableRequest request;
  *request.mutable_schema() = SchemaToProto(schema);
  request.set_exist_ok(exist_ok);
  const auto assigned = AskCreate(Authority(core), deadline, request);
  status = FirstError(assigned);
  if (!status.ok()) return status;
  return Spread(core, assigned[0]->table(), deadline);
}

absl::StatusOr<TableInfo> OpenTable(ClientCore& core, const std::string& name) {
  const absl::Status valid = ValidateTableName(name);
  if (!valid.ok()) return valid;
  v1::DescribeTableRequest request;
  request.set_name(name);
  const auto answers = AskShards<v1::DescribeTableResponse>(
      core.channels(), core.DeadlineOf(std::nullopt),
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncDescribeTable(context, request, queue);
      });
  const absl::StatusOr<v1::DescribeTableResponse>& authority = answers[core.map().owner(0)];
  if (!authority.ok()) return authority.status();
  absl::StatusOr<TableInfo> info = InfoFromProto(authority->table());
  if (!info.ok()) return info;
  for (size_t shard = 0; shard < answers.size(); ++shard) {
    const absl::StatusOr<v1::DescribeTableResponse>& answer = answers[shard];
    const bool lacks = answer.ok() ? answer->table().table_id() != info->table_id
                                   : answer.status().code() == absl::StatusCode::kNotFound;
    if (lacks) return MissingOn(*core.channels()[shard], *info);
    if (!answer.ok()) return answer.status();
    info->highest_step = std::max(info->highest_step, answer->table().highest_step());
  }
  return info;
}

absl::StatusOr<std::vector<TableInfo>> ListTables(ClientCore& core) {
  const auto answers = AskShards<v1::ListTablesResponse>(
      Authority(core), core.DeadlineOf(std::nullopt),
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncListTables(context, {}, queue);
      });
  const absl::Status status = FirstError(answers);
  if (!status.ok()) return status;
  std::vector<TableInfo> tables;
  for (const v1::TableDescription& description : answers[0]->tables()) {
    absl::StatusOr<TableInfo> info = InfoFromProto(description);
    if (!info.ok()) return info.status();
    tables.push_back(*std::move(info));
  }
  return tables;
}

absl::StatusOr<uint64_t> DropTable(ClientCore& core, const std::string& name) {
  const absl::Status valid = ValidateTableName(name);
  if (!valid.ok()) return valid;
  if (absl::Status status = CheckDropsHere(core, name); !status.ok()) return status;
  v1::DropTableRequest request;
  request.set_name(name);
  const auto drop = [&](Channels channels) {
    return AskShards<v1::DropTableResponse>(
        channels, core.DeadlineOf(std::nullopt),
        [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
          return channel.admin().AsyncDropTable(context, request, queue);
        });
  };
  // The authority last, so that a drop that failed half-way can be called again.
  uint64_t rows = 0;
  const uint32_t authority = core.map().owner(0);
  for (uint32_t shard = 0; shard < core.channels().size(); ++shard) {
    if (shard == authority) continue;
    const auto answers = drop(core.channels().subspan(shard, 1));
    if (answers[0].ok()) {
      rows += answers[0]->rows();
    } else if (answers[0].status().code() != absl::StatusCode::kNotFound) {
      return answers[0].status();
    }
  }
  const auto answers = drop(Authority(core));
  if (!answers[0].ok()) return answers[0].status();
  core.ForgetTable(name);
  return rows + answers[0]->rows();
}

std::vector<ShardStatus> AskStatus(ClientCore& core, const std::string& table) {
  v1::GetStatsRequest request;
  request.set_table(table);
  const auto answers = AskShards<v1::GetStatsResponse>(
      core.channels(), core.DeadlineOf(std::nullopt),
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncGetStats(context, request, queue);
      });
  std::vector<ShardStatus> shards(answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    shards[i].shard = static_cast<uint32_t>(i);
    shards[i].address = core.channels()[i]->address();
    shards[i].status = answers[i].status();
    if (!answers[i].ok()) continue;
    Fill(*answers[i], shards[i]);
    // It lives; whether it is the shard that it should be is known when the connection is up.
    shards[i].status = core.channels()[i]->WaitUntilUp(Now() + kIdentityTimeout);
  }
  return shards;
}

absl::StatusOr<TableStatistics> SumStatistics(ClientCore& core, const std::string& table) {
  TableStatistics sum;
  sum.name = table;
  for (const ShardStatus& shard : AskStatus(core, table)) {
    if (!shard.status.ok()) return shard.status;
    for (const TableStatistics& statistics : shard.tables) Add(statistics, sum);
  }
  return sum;
}

}  // namespace hotrow::client
