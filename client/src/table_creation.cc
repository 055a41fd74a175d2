// How a table comes to be on all shards: the authority gives it an id, then the others get it under
// that id. Whatever is to be refused is refused before anything is made anywhere.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/await_shards.h"
#include "client/src/client_error.h"
#include "client/src/schema.h"
#include "client/src/table_admin.h"
#include "client/src/table_parts.h"
#include "proto/wire/status_codec.h"

namespace hotrow::client {
namespace {

// Of workers that drop and create one table at the same time, each tries again so often.
constexpr int kAttempts = 5;
constexpr milliseconds kPause(20);  // times the number of attempts so far

class TableCreation {
 public:
  TableCreation(ClientCore& core, const TableSchema& schema, bool exist_ok)
      : core_(core), authority_(core.map().owner(0)), patience_(core.PatienceOf(std::nullopt)) {
    *request_.mutable_schema() = SchemaToProto(schema);
    request_.set_exist_ok(exist_ok);
  }

  absl::StatusOr<TableInfo> Run() {
    for (int attempt = 1;; ++attempt) {
      const absl::StatusOr<TableParts> parts = AskOncePresent(
          core_, core_.channels(), patience_,
          [this] { return TableParts::Ask(core_, request_.schema().name(), patience_.deadline); });
      if (!parts.ok()) return parts.status();
      if (absl::Status lost = parts->CheckNothingLost(); !lost.ok()) return lost;
      crossed_ = absl::OkStatus();
      absl::StatusOr<TableInfo> made = Make(*parts);
      if (crossed_.ok()) return made;
      if (attempt == kAttempts || !SleepFor(kPause * attempt)) return Crossed();
    }
  }

 private:
  using Answers = std::vector<absl::StatusOr<v1::CreateTableResponse>>;

  Answers AskCreate(Channels channels, const v1::CreateTableRequest& request) {
    return AskShards<v1::CreateTableResponse>(
        channels, patience_.deadline,
        [&](ShardChannel& channel, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
          return channel.admin().AsyncCreateTable(context, request, queue);
        });
  }

  // With crossed_ set when the doings of another worker came between.
  absl::StatusOr<TableInfo> Make(const TableParts& parts) {
    const bool same =
        !parts.nowhere() && SameSchema(request_.schema(), parts.description().schema());
    if (parts.whole() && same && request_.exist_ok()) return parts.Info();
    // A shard that knows the table refuses what does not fit it; without one the authority begins.
    const uint32_t first = parts.nowhere() || parts.on(authority_) ? authority_ : parts.holder();
    const Answers begun = AskCreate(core_.channels().subspan(first, 1), Beginning(parts));
    if (!begun[0].ok()) return Refused(begun[0].status(), parts, first);
    const v1::TableDescription& table = begun[0]->table();
    if (begun[0]->created()) own_id_ = table.table_id();
    if (parts.whole() && !begun[0]->created()) return parts.Info();
    if (parts.crossed()) return crossed_ = parts.CheckWhole();
    return Spread(table, first);
  }

  // What this call has created itself is not there already.
  v1::CreateTableRequest Beginning(const TableParts& parts) const {
    v1::CreateTableRequest request = request_;
    if (IsOwn(parts)) request.set_table_id(own_id_);
    return request;
  }

  bool IsOwn(const TableParts& parts) const {
    return !parts.nowhere() && parts.description().table_id() == own_id_;
  }

  absl::Status Refused(const absl::Status& status, const TableParts& parts, uint32_t first) {
    wire::ErrorInfo error = wire::FromStatus(status);
    // A shard that assigns no ids was asked because it knew the table: it was dropped since.
    const bool dropped = first != authority_ && error.kind == wire::ErrorKind::kInvalidArgument;
    if (dropped || (IsOwn(parts) && error.kind == wire::ErrorKind::kAlreadyExists)) {
      return crossed_ = status;
    }
    if (error.kind == wire::ErrorKind::kSchemaMismatch) {
      error.hint = MismatchHint(request_.schema(),
                                parts.nowhere() ? v1::TableSchema() : parts.description().schema());
    }
    return wire::ToStatus(error);
  }

  // Makes `table` on the shards that lack it, under its id.
  absl::StatusOr<TableInfo> Spread(const v1::TableDescription& table, uint32_t first) {
    v1::CreateTableRequest request = request_;
    request.set_table_id(table.table_id());
    request.set_exist_ok(true);
    // The authority first, which may know the id as that of a table that was dropped.
    absl::Status status;
    if (first != authority_) {
      status = FirstError(AskCreate(core_.channels().subspan(authority_, 1), request));
    }
    if (!status.ok()) return SpreadRefused(status);
    const Answers answers = AskCreate(core_.channels(), request);
    status = FirstError(answers);
    if (!status.ok()) return SpreadRefused(status);
    absl::StatusOr<TableInfo> info = InfoFromProto(table);
    if (!info.ok()) return info;
    for (const auto& answer : answers) {
      info->highest_step = std::max(info->highest_step, answer->table().highest_step());
    }
    return info;
  }

  // The schema was taken by the first shard: what another one has against it is the id.
  absl::Status SpreadRefused(const absl::Status& status) {
    const wire::ErrorKind kind = wire::FromStatus(status).kind;
    if (kind == wire::ErrorKind::kSchemaMismatch || kind == wire::ErrorKind::kAlreadyExists) {
      crossed_ = status;
    }
    return status;
  }

  absl::Status Crossed() const {
    const wire::ErrorInfo cause = wire::FromStatus(crossed_);
    const std::string& name = request_.schema().name();
    return wire::ToStatus(
        {.kind = wire::ErrorKind::kAlreadyExists,
         .message = absl::StrCat("table '", name,
                                 "' is dropped and created by several workers at "
                                 "once, and their parts of it do not belong together (",
                                 cause.message, ")"),
         .hint =
             absl::StrCat("Let one worker alone drop it, if nothing is stored in it, drop_table('",
                          name, "'), and create it; the others then open it."),
         .table = name,
         .shard = cause.shard});
  }

  ClientCore& core_;
  const uint32_t authority_;
  Patience patience_;
  v1::CreateTableRequest request_;
  uint32_t own_id_ = 0;   // of what this call has created on the authority; 0: nothing yet
  absl::Status crossed_;  // what the last attempt ran into
};

}  // namespace

absl::StatusOr<TableInfo> CreateTable(ClientCore& core, const TableSchema& schema, bool exist_ok) {
  if (absl::Status status = ValidateSchema(schema); !status.ok()) return status;
  return TableCreation(core, schema, exist_ok).Run();
}

}  // namespace hotrow::client
