#include "hotrow/client.h"

#include "client/src/client_core.h"
#include "client/src/client_error.h"
#include "client/src/table_admin.h"
#include "proto/wire/hashes.h"

namespace hotrow {

using BatchList = std::vector<std::shared_ptr<PulledBatch>>;

absl::StatusOr<std::shared_ptr<Client>> Client::Connect(ConnectOptions options) {
  absl::StatusOr<std::shared_ptr<ClientCore>> core = ClientCore::Connect(std::move(options));
  if (!core.ok()) return core.status();
  return std::shared_ptr<Client>(new Client(*std::move(core)));
}

Client::Client(std::shared_ptr<ClientCore> core) : core_(std::move(core)) {}

Client::~Client() = default;

absl::StatusOr<Table> Client::CreateTable(const TableSchema& schema, bool exist_ok) {
  const absl::Status usable = core_->CheckUsable();
  if (!usable.ok()) return usable;
  absl::StatusOr<TableInfo> info = client::CreateTable(*core_, schema, exist_ok);
  if (!info.ok()) return info.status();
  return Table(core_, core_->KnowTable(*info));
}

absl::StatusOr<Table> Client::OpenTable(std::string_view name) {
  const absl::Status usable = core_->CheckUsable();
  if (!usable.ok()) return usable;
  absl::StatusOr<TableInfo> info = client::OpenTable(*core_, std::string(name));
  if (!info.ok()) return info.status();
  return Table(core_, core_->KnowTable(*info));
}

absl::StatusOr<std::vector<TableInfo>> Client::ListTables() {
  const absl::Status usable = core_->CheckUsable();
  if (!usable.ok()) return usable;
  return client::ListTables(*core_);
}

absl::StatusOr<uint64_t> Client::DropTable(std::string_view name) {
  const absl::Status usable = core_->CheckUsable();
  if (!usable.ok()) return usable;
  return client::DropTable(*core_, std::string(name));
}

namespace {

template <typename T>
Future<T> Failed(const absl::Status& status) {
  auto state = std::make_shared<typename Future<T>::State>();
  state->Set(status);
  return Future<T>(std::move(state));
}

absl::Status ForeignTable() {
  return client::InvalidInput("", "a table of another client, or none, was given",
                              "Open the table with this client.");
}

}  // namespace

Future<BatchList> Client::PullTablesAsync(std::span<const TablePull> pulls,
                                          const PullOptions& options) {
  std::vector<ClientCore::PullPart> parts;
  for (const TablePull& pull : pulls) {
    if (pull.table == nullptr || pull.table->core_ != core_)
      return Failed<BatchList>(ForeignTable());
    parts.push_back({pull.table->state_, pull.keys, pull.skip});
  }
  auto state = std::make_shared<Future<BatchList>::State>();
  core_->StartPull(parts, options,
                   [state](absl::StatusOr<BatchList> batches) { state->Set(std::move(batches)); });
  return Future<BatchList>(std::move(state));
}

absl::StatusOr<BatchList> Client::PullTables(std::span<const TablePull> pulls,
                                             const PullOptions& options) {
  // The pull itself ends at its deadline with the reason.
  return PullTablesAsync(pulls, options).Wait(std::chrono::milliseconds::max());
}

Future<PushCounts> Client::PushTablesAsync(std::span<const TablePush> pushes) {
  std::vector<ClientCore::PushPart> parts;
  for (const TablePush& push : pushes) {
    if (push.table == nullptr || push.table->core_ != core_)
      return Failed<PushCounts>(ForeignTable());
    parts.push_back({push.table->state_, push.keys, push.gradients, push.options});
  }
  return core_->StartPush(parts, wire::Operation::kPush);
}

absl::StatusOr<PushCounts> Client::PushTables(std::span<const TablePush> pushes) {
  std::vector<ClientCore::PushPart> parts;
  for (const TablePush& push : pushes) {
    if (push.table == nullptr || push.table->core_ != core_) return ForeignTable();
    parts.push_back({push.table->state_, push.keys, push.gradients, push.options});
  }
  return core_->PushAndWait(parts, wire::Operation::kPush);
}

absl::Status Client::Flush(std::optional<std::chrono::milliseconds> timeout) {
  return core_->Flush(timeout);
}

absl::Status Client::Close() { return core_->Close(); }

std::vector<ShardStatus> Client::Status() {
  const absl::Status usable = core_->CheckUsable();
  if (usable.ok()) return client::AskStatus(*core_, "");
  std::vector<ShardStatus> shards;
  for (const std::string& address : core_->map().shards()) {
    ShardStatus shard;
    shard.shard = static_cast<uint32_t>(shards.size());
    shard.address = address;
    shard.status = usable;
    shards.push_back(std::move(shard));
  }
  return shards;
}

std::vector<std::string> Client::shards() const { return core_->map().shards(); }

Key HashString(std::string_view feature, std::string_view value) {
  return wire::HashString(feature, value);
}

uint64_t MixKeyOfTable(Key key, std::string_view table) {
  return HashKey(key, wire::TableSalt(table));
}

}  // namespace hotrow
