#include "client/src/table_parts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"
#include "client/src/schema.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

constexpr int kLooks = 4;
constexpr milliseconds kLookAgain(50);

std::string Quantity(uint64_t count, const char* unit) {
  return absl::StrCat(count, " ", unit, count == 1 ? "" : "s");
}

bool IsTool(const ClientCore& core) { return core.options().access == Access::kInspect; }

std::string DropCall(const ClientCore& core, const std::string& name) {
  return IsTool(core) ? absl::StrCat("hotrowctl drop ", name, " --yes")
                      : absl::StrCat("drop_table('", name, "')");
}

}  // namespace

absl::StatusOr<TableParts> TableParts::Ask(ClientCore& core, const std::string& name,
                                           TimePoint deadline) {
  for (int look = 1;; ++look) {
    absl::StatusOr<TableParts> parts = AskOnce(core, name, deadline);
    if (!parts.ok() || !parts->lost() || look == kLooks) return parts;
    if (TimeLeft(deadline) <= kLookAgain || !SleepFor(kLookAgain)) return parts;
  }
}

absl::StatusOr<TableParts> TableParts::AskOnce(ClientCore& core, const std::string& name,
                                               TimePoint deadline) {
  v1::DescribeTableRequest request;
  request.set_name(name);
  const auto answers = AskShards<v1::DescribeTableResponse>(
      core.channels(), deadline,
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncDescribeTable(context, request, queue);
      });
  TableParts parts(core, name);
  for (const absl::StatusOr<v1::DescribeTableResponse>& answer : answers) {
    Part& part = parts.parts_.emplace_back();
    if (answer.ok()) {
      part.known = true;
      part.table = answer->table();
    } else if (!absl::IsNotFound(answer.status())) {
      return answer.status();
    }
  }
  if (parts.nowhere() || parts.whole()) return parts;
  if (absl::Status status = parts.AskRows(deadline); !status.ok()) return status;
  return parts;
}

// Rows that were loaded and never pushed to have no step that tells of them.
absl::Status TableParts::AskRows(TimePoint deadline) {
  v1::GetStatsRequest request;
  request.set_table(name_);
  const auto answers = AskShards<v1::GetStatsResponse>(
      core_->channels(), deadline,
      [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return channel.admin().AsyncGetStats(context, request, queue);
      });
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].ok()) {
      if (absl::IsNotFound(answers[i].status())) continue;
      return answers[i].status();
    }
    for (const v1::TableStats& table : answers[i]->tables()) parts_[i].rows += table.rows();
  }
  return absl::OkStatus();
}

size_t TableParts::known() const {
  return static_cast<size_t>(
      std::count_if(parts_.begin(), parts_.end(), [](const Part& part) { return part.known; }));
}

uint32_t TableParts::holder() const {
  // Where nothing is stored the authority's word counts, before that of the first shard.
  const uint32_t authority = core_->map().owner(0);
  const auto rank = [&](uint32_t shard) {
    const Part& part = parts_[shard];
    return std::tuple(part.known, part.highest_step(), part.rows, shard == authority);
  };
  uint32_t best = 0;
  for (uint32_t shard = 1; shard < parts_.size(); ++shard) {
    if (rank(shard) > rank(best)) best = shard;
  }
  return best;
}

bool TableParts::belongs(const Part& part) const {
  return part.known && part.table.table_id() == description().table_id();
}

bool TableParts::crossed() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [this](const Part& part) { return part.known && !belongs(part); });
}

bool TableParts::lost() const {
  return !whole() &&
         std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.used(); });
}

uint32_t TableParts::FirstLacking() const {
  uint32_t shard = 0;
  while (belongs(parts_[shard])) ++shard;
  return shard;
}

absl::StatusOr<TableInfo> TableParts::Info() const {
  absl::StatusOr<TableInfo> info = InfoFromProto(description());
  if (!info.ok()) return info;
  for (const Part& part : parts_) {
    info->highest_step = std::max(info->highest_step, part.highest_step());
  }
  return info;
}

absl::Status TableParts::Lacking(wire::ErrorKind kind, std::string message,
                                 std::string hint) const {
  const ShardChannel& shard = *core_->channels()[FirstLacking()];
  return NameShard(
      wire::ToStatus(
          {.kind = kind, .message = std::move(message), .hint = std::move(hint), .table = name_}),
      shard.shard(), shard.address());
}

absl::Status TableParts::CheckNothingLost() const {
  if (!lost()) return absl::OkStatus();
  uint64_t holders = 0;
  uint64_t rows = 0;
  uint64_t step = 0;
  for (const Part& part : parts_) {
    if (!belongs(part)) continue;
    ++holders;
    rows += part.rows;
    step = std::max(step, part.highest_step());
  }
  const bool other = parts_[FirstLacking()].known;
  return Lacking(
      wire::ErrorKind::kDataLoss,
      absl::StrCat("table '", name_, "' has lost its part on this shard, ",
                   other ? "which knows it by another id, " : "which has forgotten it, ", "while ",
                   Quantity(holders, "shard"), " of ", parts_.size(), " still ",
                   holders == 1 ? "holds " : "hold ", Quantity(rows, "row"), " of it, up to step ",
                   step),
      absl::StrCat(
          DropCall(*core_, name_),
          ", create it and restore all of its rows from your copy: the shard was "
          "restarted, or a drop stopped halfway, and what is left is a part of the model."));
}

absl::Status TableParts::CheckWhole() const {
  if (nowhere()) return NoSuchTable(*core_, name_, "create_table makes it; ");
  if (whole()) return absl::OkStatus();
  if (absl::Status status = CheckNothingLost(); !status.ok()) return status;
  const std::string known_by =
      absl::StrCat("table '", name_, "' is not on this shard with the id ",
                   description().table_id(), " that shard ", holder(), " knows it by");
  if (crossed()) {
    return Lacking(
        wire::ErrorKind::kNotFound, known_by,
        absl::StrCat("It was dropped and created by several workers at once, and nothing "
                     "is stored in it: ",
                     DropCall(*core_, name_), " and create it, from one worker."));
  }
  return Lacking(wire::ErrorKind::kNotFound, known_by,
                 "Nothing is stored in it: its creation was interrupted, or the shard restarted "
                 "before the first push. create_table(exist_ok=True) makes the missing part.");
}

absl::Status NoSuchTable(const ClientCore& core, const std::string& name, std::string advice) {
  const bool tool = IsTool(core);
  if (tool) advice.clear();
  return wire::ToStatus({.kind = wire::ErrorKind::kNotFound,
                         .message = absl::StrCat("no shard has a table '", name, "'"),
                         .hint = absl::StrCat(advice, tool ? "hotrowctl tables lists what is there."
                                                           : "tables() lists what is there."),
                         .table = name});
}

}  // namespace hotrow::client
