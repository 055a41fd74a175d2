#include "client/src/table_admin.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/await_shards.h"
#include "client/src/schema.h"
#include "client/src/table_parts.h"

namespace hotrow::client {
namespace {

constexpr std::chrono::seconds kIdentityTimeout(2);

template <typename Answers>
bool AnyAnswered(const Answers& answers) {
  return std::any_of(answers.begin(), answers.end(), [](const auto& one) { return one.ok(); });
}

// Where each shard drops tables: empty for the address that all calls go to.
absl::StatusOr<std::vector<std::string>> AskAdminAddresses(ClientCore& core, TimePoint deadline) {
  const auto answers = AskShards<v1::GetShardMapResponse>(
      core.channels(), deadline,
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncGetShardMap(context, {}, queue);
      });
  if (absl::Status status = FirstError(answers); !status.ok()) return status;
  std::vector<std::string> addresses;
  for (const auto& answer : answers) addresses.push_back(answer->admin_address());
  return addresses;
}

// The calls that lose rows may be served in one place only, which need not be reached from here.
// Nothing may be dropped anywhere when that is so of one shard.
absl::Status CheckDropsHere(ClientCore& core, const std::string& table) {
  Patience patience = core.PatienceOf(std::nullopt);
  const auto addresses = AskOncePresent(core, core.channels(), patience,
                                        [&] { return AskAdminAddresses(core, patience.deadline); });
  if (!addresses.ok()) return addresses.status();
  for (size_t i = 0; i < addresses->size(); ++i) {
    const std::string& admin = (*addresses)[i];
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

// A shard lacks an open table: has it lost its part, or is the table gone from all?
absl::Status WhyNotFound(ClientCore& core, const std::string& table, const absl::Status& status,
                         TimePoint deadline) {
  const absl::StatusOr<TableParts> parts = TableParts::Ask(core, table, deadline);
  if (!parts.ok()) return parts.status();
  if (parts->nowhere()) {
    return NoSuchTable(core, table, "It was dropped, or all shards were restarted; ");
  }
  const absl::Status lacking = parts->CheckWhole();
  return lacking.ok() ? status : lacking;
}

TableStatistics FromProto(const v1::TableStats& proto) {
  TableStatistics statistics{.name = proto.name(),
                             .rows = proto.rows(),
                             .used_bytes = proto.used_bytes(),
                             .allocated_bytes = proto.allocated_bytes(),
                             .rows_pulled = proto.rows_pulled(),
                             .rows_pulled_initial = proto.rows_pulled_initial(),
                             .rows_pushed = proto.rows_pushed(),
                             .rows_created = proto.rows_created(),
                             .rows_refused = proto.rows_refused(),
                             .gradients_refused = proto.gradients_refused(),
                             .highest_step = proto.highest_step(),
                             .promotions = proto.promotions(),
                             .evictions = proto.evictions(),
                             .eviction_failures = proto.eviction_failures(),
                             .tier_read_failures = proto.tier_read_failures()};
  for (const v1::TierStats& tier : proto.tiers()) {
    statistics.tiers.push_back({tier.name(), tier.rows(), tier.used_bytes(), tier.rows_pulled()});
  }
  return statistics;
}

void AddTier(const TierStatistics& tier, std::vector<TierStatistics>& sums) {
  for (TierStatistics& sum : sums) {
    if (sum.name != tier.name) continue;
    sum.rows += tier.rows;
    sum.used_bytes += tier.used_bytes;
    sum.rows_pulled += tier.rows_pulled;
    return;
  }
  sums.push_back(tier);
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

std::vector<ShardStatus> AskStatusBy(ClientCore& core, const std::string& table,
                                     TimePoint deadline) {
  v1::GetStatsRequest request;
  request.set_table(table);
  const auto answers = AskShards<v1::GetStatsResponse>(
      core.channels(), deadline,
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

absl::StatusOr<TableStatistics> SumOnce(ClientCore& core, const std::string& table,
                                        TimePoint deadline) {
  TableStatistics sum;
  sum.name = table;
  for (const ShardStatus& shard : AskStatusBy(core, table, deadline)) {
    if (absl::IsNotFound(shard.status)) return WhyNotFound(core, table, shard.status, deadline);
    if (!shard.status.ok()) return shard.status;
    for (const TableStatistics& statistics : shard.tables) Add(statistics, sum);
  }
  return sum;
}

}  // namespace

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
  sum.promotions += shard.promotions;
  sum.evictions += shard.evictions;
  sum.eviction_failures += shard.eviction_failures;
  sum.tier_read_failures += shard.tier_read_failures;
  for (const TierStatistics& tier : shard.tiers) AddTier(tier, sum.tiers);
}

absl::StatusOr<TableInfo> OpenTable(ClientCore& core, const std::string& name) {
  const absl::Status valid = ValidateTableName(name);
  if (!valid.ok()) return valid;
  Patience patience = core.PatienceOf(std::nullopt);
  const absl::StatusOr<TableParts> parts = AskOncePresent(core, core.channels(), patience, [&] {
    return TableParts::Ask(core, name, patience.deadline);
  });
  if (!parts.ok()) return parts.status();
  if (absl::Status whole = parts->CheckWhole(); !whole.ok()) return whole;
  return parts->Info();
}

absl::StatusOr<std::vector<TableInfo>> ListTables(ClientCore& core) {
  using Answers = std::vector<absl::StatusOr<v1::ListTablesResponse>>;
  const bool tool = core.options().access == Access::kInspect;
  Patience patience = core.PatienceOf(std::nullopt);
  const absl::StatusOr<Answers> answers =
      AskOncePresent(core, core.channels(), patience, [&]() -> absl::StatusOr<Answers> {
        Answers all = AskShards<v1::ListTablesResponse>(
            core.channels(), patience.deadline,
            [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
              return channel.admin().AsyncListTables(context, {}, queue);
            });
        const absl::Status status = FirstError(all);
        if (!status.ok() && !(tool && AnyAnswered(all))) return status;
        return all;
      });
  if (!answers.ok()) return answers.status();
  std::map<std::string, TableInfo> tables;
  for (const auto& answer : *answers) {
    if (!answer.ok()) continue;
    for (const v1::TableDescription& description : answer->tables()) {
      absl::StatusOr<TableInfo> info = InfoFromProto(description);
      if (!info.ok()) return info.status();
      const auto [known, is_new] = tables.try_emplace(info->schema.name, *info);
      if (!is_new) {
        known->second.highest_step = std::max(known->second.highest_step, info->highest_step);
      }
    }
  }
  std::vector<TableInfo> by_name;
  for (auto& [name, info] : tables) by_name.push_back(std::move(info));
  return by_name;
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
  // What some shards have forgotten is dropped on the others. The authority last: until then it
  // says that the table is there, also when a drop has failed half-way.
  const uint32_t authority = core.map().owner(0);
  std::vector<uint32_t> order;
  for (uint32_t shard = 0; shard < core.channels().size(); ++shard) {
    if (shard != authority) order.push_back(shard);
  }
  order.push_back(authority);
  uint64_t rows = 0;
  bool found = false;
  for (const uint32_t shard : order) {
    const auto answers = drop(core.channels().subspan(shard, 1));
    if (answers[0].ok()) {
      found = true;
      rows += answers[0]->rows();
    } else if (!absl::IsNotFound(answers[0].status())) {
      return answers[0].status();
    }
  }
  core.ForgetTable(name);
  if (!found) return NoSuchTable(core, name);
  return rows;
}

std::vector<ShardStatus> AskStatus(ClientCore& core, const std::string& table) {
  return AskStatusBy(core, table, core.DeadlineOf(std::nullopt));
}

absl::StatusOr<TableStatistics> SumStatistics(ClientCore& core, const std::string& table) {
  Patience patience = core.PatienceOf(std::nullopt);
  return AskOncePresent(core, core.channels(), patience,
                        [&] { return SumOnce(core, table, patience.deadline); });
}

}  // namespace hotrow::client
