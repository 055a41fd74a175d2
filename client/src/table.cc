#include <cstring>

#include "client/src/client_core.h"
#include "client/src/client_error.h"
#include "client/src/table_admin.h"
#include "client/src/table_scan.h"
#include "client/src/validate.h"
#include "hotrow/client.h"

namespace hotrow {
namespace {

// One copy, from where each row was received to where each occurrence of its key stands.
void CopyRows(const PulledBatch& batch, std::span<float> out) {
  const ConstRowsView rows = batch.rows();
  float* target = out.data();
  for (const int32_t position : batch.positions()) {
    std::memcpy(target, rows.rows[position], static_cast<size_t>(rows.dim) * sizeof(float));
    target += rows.dim;
  }
}

}  // namespace

Table::Table(std::shared_ptr<ClientCore> core, std::shared_ptr<TableState> state)
    : core_(std::move(core)), state_(std::move(state)) {}

const std::string& Table::name() const { return state_->info.schema.name; }
int64_t Table::dim() const { return state_->info.schema.dim; }
TableInfo Table::info() const { return state_->info; }

Future<std::shared_ptr<PulledBatch>> Table::PullBatchAsync(std::span<const Key> keys,
                                                           std::optional<Key> skip,
                                                           const PullOptions& options) const {
  auto state = std::make_shared<Future<std::shared_ptr<PulledBatch>>::State>();
  const ClientCore::PullPart part{state_, keys, skip};
  core_->StartPull({&part, 1}, options, [state](absl::StatusOr<ClientCore::Batches> batches) {
    if (batches.ok()) {
      state->Set(std::move(batches->front()));
    } else {
      state->Set(batches.status());
    }
  });
  return Future<std::shared_ptr<PulledBatch>>(std::move(state));
}

absl::StatusOr<std::shared_ptr<PulledBatch>> Table::PullBatch(std::span<const Key> keys,
                                                              std::optional<Key> skip,
                                                              const PullOptions& options) const {
  // The pull itself ends at its deadline with the reason.
  return PullBatchAsync(keys, skip, options).Wait(std::chrono::milliseconds::max());
}

absl::Status Table::Pull(std::span<const Key> keys, std::span<float> rows,
                         const PullOptions& options) const {
  const absl::Status status = client::ValidateRows(state_->info.schema, keys.size(), rows.size());
  if (!status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<PulledBatch>> batch = PullBatch(keys, std::nullopt, options);
  if (!batch.ok()) return batch.status();
  CopyRows(**batch, rows);
  return absl::OkStatus();
}

absl::StatusOr<PushCounts> Table::Push(std::span<const Key> keys, std::span<const float> gradients,
                                       const PushOptions& options) const {
  const ClientCore::PushPart part{state_, keys, gradients, options};
  return core_->PushAndWait({&part, 1}, wire::Operation::kPush);
}

Future<PushCounts> Table::PushAsync(std::span<const Key> keys, std::span<const float> gradients,
                                    const PushOptions& options) const {
  const ClientCore::PushPart part{state_, keys, gradients, options};
  return core_->StartPush({&part, 1}, wire::Operation::kPush);
}

absl::StatusOr<PushCounts> Table::Upsert(std::span<const Key> keys,
                                         std::span<const float> rows) const {
  const ClientCore::PushPart part{state_, keys, rows, {}};
  return core_->PushAndWait({&part, 1}, wire::Operation::kUpsert);
}

absl::StatusOr<int64_t> Table::Remove(std::span<const Key> keys) const {
  const ClientCore::PushPart part{state_, keys, {}, {}};
  const absl::StatusOr<PushCounts> counts =
      core_->PushAndWait({&part, 1}, wire::Operation::kRemove);
  if (!counts.ok()) return counts.status();
  return counts->rows_updated;
}

absl::StatusOr<int64_t> Table::Size() const {
  const absl::StatusOr<TableStatistics> statistics = Stats();
  if (!statistics.ok()) return statistics.status();
  return static_cast<int64_t>(statistics->rows);
}

absl::Status Table::Scan(int64_t batch_rows, bool with_state, const Visitor& visit) const {
  const absl::Status usable = core_->CheckUsable();
  if (!usable.ok()) return usable;
  if (batch_rows < 1 || batch_rows > UINT32_MAX) {
    return client::InvalidInput(name(), "batch_rows is not in 1 .. 2^32 - 1",
                                "Some thousand rows a batch are plenty.");
  }
  return client::ScanTable(*core_,
                           {.table_id = state_->info.table_id,
                            .batch_rows = static_cast<uint32_t>(batch_rows),
                            .with_state = with_state},
                           visit);
}

absl::StatusOr<TableStatistics> Table::Stats() const {
  const absl::Status usable = core_->CheckUsable();
  if (!usable.ok()) return usable;
  return client::SumStatistics(*core_, name());
}

}  // namespace hotrow
