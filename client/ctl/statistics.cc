// hotrowctl stats: the counters of tables, summed over the shards that answer.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/commands.h"
#include "client/src/client_error.h"
#include "client/src/table_admin.h"
#include "proto/wire/status_codec.h"

namespace hotrow::ctl {
namespace {

// One table, over the shards that answered and have it.
struct Sum {
  TableStatistics statistics;
  uint64_t shards = 0;
};

// Rows and bytes of each tier, and how many of the rows that pulls found lay in the hot one. All
// three tiers, always: the records of a list have the same fields.
void AddTiers(const TableStatistics& table, Record& record) {
  uint64_t pulled = 0;
  uint64_t hot = 0;
  for (const TierStatistics& tier : table.tiers) {
    pulled += tier.rows_pulled;
    if (tier.name == "hot") hot = tier.rows_pulled;
  }
  for (const char* name : {"hot", "warm", "cold"}) {
    TierStatistics tier;
    for (const TierStatistics& known : table.tiers) {
      if (known.name == name) tier = known;
    }
    record.push_back(Count(absl::StrCat(name, "_rows"), tier.rows));
    record.push_back(Bytes(absl::StrCat(name, "_bytes"), tier.used_bytes));
  }
  record.push_back(pulled == 0 ? Unknown("hit_rate") : Share("hit_rate", hot, pulled));
}

Record StatisticsRecord(const Sum& sum) {
  const TableStatistics& table = sum.statistics;
  Record record = {Text("table", table.name), Count("rows", table.rows),
                   Bytes("used_bytes", table.used_bytes),
                   Bytes("allocated_bytes", table.allocated_bytes)};
  AddTiers(table, record);
  const Record counts = {Count("rows_pulled", table.rows_pulled),
                         Count("rows_pulled_initial", table.rows_pulled_initial),
                         Count("rows_pushed", table.rows_pushed),
                         Count("rows_created", table.rows_created),
                         Count("rows_refused", table.rows_refused),
                         Count("evictions", table.evictions),
                         Count("promotions", table.promotions),
                         Count("gradients_refused", table.gradients_refused),
                         Count("highest_step", table.highest_step),
                         Count("shards", sum.shards)};
  record.insert(record.end(), counts.begin(), counts.end());
  return record;
}

// What keeps the sums from being of all shards. The first of the worst is told at the end, the
// others at once: a table that is not there is less than one that was lost.
class Gaps {
 public:
  void Note(absl::Status status) {
    if (absl::IsNotFound(worst_) && !status.ok() && !absl::IsNotFound(status)) {
      std::swap(worst_, status);
    }
    if (!worst_.ok()) Complain(status);
    worst_.Update(status);
  }
  const absl::Status& worst() const { return worst_; }

 private:
  absl::Status worst_;
};

absl::Status Lacks(const ShardStatus& shard, const std::string& table) {
  return client::NameShard(
      wire::ToStatus({.kind = wire::ErrorKind::kNotFound,
                      .message = absl::StrCat("table '", table, "' is not on this shard"),
                      .table = table}),
      shard.shard, shard.address);
}

absl::Status NoSuchTable(const std::string& table) {
  return wire::ToStatus({.kind = wire::ErrorKind::kNotFound,
                         .message = absl::StrCat("there is no table '", table, "'"),
                         .table = table});
}

std::map<std::string, Sum> SumOver(const std::vector<ShardStatus>& shards,
                                   const std::string& only) {
  std::map<std::string, Sum> sums;
  for (const ShardStatus& shard : shards) {
    if (!shard.status.ok()) continue;
    for (const TableStatistics& table : shard.tables) {
      if (!only.empty() && table.name != only) continue;
      Sum& sum = sums[table.name];
      ++sum.shards;
      sum.statistics.name = table.name;
      client::Add(table, sum.statistics);
    }
  }
  return sums;
}

// Notes the shards that answered without `table`.
void NoteLacking(const std::vector<ShardStatus>& shards, const std::string& table, Gaps& gaps) {
  for (const ShardStatus& shard : shards) {
    const bool has = std::any_of(shard.tables.begin(), shard.tables.end(),
                                 [&](const auto& entry) { return entry.name == table; });
    if (shard.status.ok() && !has) gaps.Note(Lacks(shard, table));
  }
}

absl::Status PrintOnce(Client& client, const Arguments& arguments) {
  Gaps gaps;
  const std::vector<ShardStatus> shards = client.Status();
  for (const ShardStatus& shard : shards) gaps.Note(shard.status);
  const bool all_answered = gaps.worst().ok();
  const auto sums = SumOver(shards, arguments.table);
  if (sums.empty() && all_answered && !arguments.table.empty()) return NoSuchTable(arguments.table);
  std::vector<Record> records;
  for (const auto& [name, sum] : sums) {
    records.push_back(StatisticsRecord(sum));
    // Opening it finds more than a missing name, but asks every shard.
    if (all_answered) {
      gaps.Note(client.OpenTable(name).status());
    } else {
      NoteLacking(shards, name, gaps);
    }
  }
  Print(records, arguments.format);
  std::fflush(stdout);
  return gaps.worst();
}

// Waits two seconds, or until nobody reads the output any more.
bool ReaderGone() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 2000) > 0;
}

}  // namespace

absl::Status ShowStatistics(const Arguments& arguments) {
  const auto client = Connect(arguments);
  if (!client.ok()) return client.status();
  while (true) {
    const absl::Status status = PrintOnce(**client, arguments);
    if (!status.ok() || !arguments.watch) return status;
    if (ReaderGone()) return absl::OkStatus();
    std::puts("");
  }
}

}  // namespace hotrow::ctl
