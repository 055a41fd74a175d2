#include "server/table/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/table/value_check.h"

namespace hotrow {
namespace {

// Rows worked on at a time: their records and gradients stay in the second-level cache from the
// first touch to the last.
constexpr int64_t kRowsAtATime = 1024;
constexpr int64_t kScanAtATime = 65536;

// Address space is reserved for what a table can come to hold: the keys of a closed one at half of
// its slots, which leaves room for any unevenness, or whatever the budget allows.
int64_t MaxSlots(const TableOptions& options) {
  constexpr int64_t kMost = RowStoreOptions{}.max_slots;
  if (options.num_embeddings == 0 || options.num_embeddings > uint64_t{kMost} / 4) return kMost;
  return 2 * static_cast<int64_t>(options.num_embeddings) + 64 * options.slots_per_set;
}

absl::Status NoStore(const std::string& table, const Result& result) {
  wire::ErrorInfo error;
  error.kind = wire::ErrorKind::kInternal;
  error.message = fmt::format("table '{}': {}", table, result.message());
  error.table = table;
  if (result.code() == Code::kResourceExhausted) {
    error.kind = wire::ErrorKind::kCapacityFull;
    error.hint = "raise the shard's memory budget or drop a table";
  } else if (result.code() == Code::kUnavailable) {
    error.kind = wire::ErrorKind::kCapacityFull;
    error.hint = "drop a table, or raise the limit of address space (ulimit -v)";
  }
  return wire::ToStatus(error);
}

bool SameStep(const StepOptions& a, const StepOptions& b) {
  return a.step == b.step && a.learning_rate == b.learning_rate;
}

void Touch(RowMeta* meta, uint64_t lsn) {
  meta->lsn = lsn;
  if (meta->step_count != std::numeric_limits<uint32_t>::max()) ++meta->step_count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> Table::Create(TableOptions options, MemoryBudget& budget,
                                                     TableWorkspace& workspace) {
  RowStoreOptions store_options;
  store_options.layout = options.layout();
  store_options.table_salt = options.table_salt;
  store_options.slots_per_set = options.slots_per_set;
  store_options.max_slots = MaxSlots(options);
  auto store = RowStore::Create(store_options, budget);
  if (!store.ok()) return NoStore(options.name, store.result());
  return std::unique_ptr<Table>(new Table(std::move(options), *std::move(store), workspace));
}

Table::Table(TableOptions options, std::unique_ptr<RowStore> store, TableWorkspace& workspace)
    : options_(std::move(options)), store_(std::move(store)), workspace_(workspace) {}

bool Table::GradientsInBound(std::span<const ConstRowPointer> rows) const {
  return MagnitudesWithin({rows, options_.dim}, options_.gradient_bound);
}

bool Table::RowsFinite(std::span<const ConstRowPointer> rows) const {
  return MagnitudesWithin({rows, options_.dim}, std::numeric_limits<float>::max());
}

uint32_t Table::Pull(std::span<const Key> keys, std::span<const RowPointer> rows) {
  TableWorkspace& work = workspace_;
  const int64_t count = static_cast<int64_t>(keys.size());
  uint32_t initial = 0;
  for (int64_t begin = 0; begin < count; begin += kRowsAtATime) {
    const int64_t size = std::min(kRowsAtATime, count - begin);
    const auto some = keys.subspan(begin, size);
    const auto targets = rows.subspan(begin, size);
    work.slots.resize(size);
    store_->Find(some, work.slots);
    store_->CopyWeights(work.slots, {targets, options_.dim});
    work.fresh_keys.clear();
    work.fresh_rows.clear();
    for (int64_t i = 0; i < size; ++i) {
      if (work.slots[i] != kNoSlot) continue;
      work.fresh_keys.push_back(some[i]);
      work.fresh_rows.push_back(targets[i]);
    }
    if (work.fresh_keys.empty()) continue;
    InitializeRows(options_.initializer, work.fresh_keys, {work.fresh_rows, options_.dim});
    initial += static_cast<uint32_t>(work.fresh_keys.size());
  }
  counters_.rows_pulled += keys.size();
  counters_.rows_pulled_initial += initial;
  return initial;
}

void Table::Claim(RowBatch& batch) {
  batch.slots().resize(batch.size());
  workspace_.created.assign(batch.size(), 0);
  store_->FindOrClaim(batch.keys(), batch.slots(), workspace_.created, nullptr);
  CountParts(batch);
}

void Table::CountParts(RowBatch& batch) {
  for (RowBatch::Part& part : batch.parts()) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      part.created += workspace_.created[i];
      part.refused += batch.slots()[i] == kNoSlot ? 1 : 0;
    }
    part.updated = part.size() - part.created - part.refused;
    counters_.rows_created += part.created;
    counters_.rows_refused += part.refused;
  }
}

void Table::InitializeCreated(RowBatch& batch) {
  TableWorkspace& work = workspace_;
  work.fresh_keys.clear();
  work.fresh_rows.clear();
  for (int64_t i = 0; i < batch.size(); ++i) {
    if (work.created[i] == 0) continue;
    std::byte* record = store_->record(batch.slots()[i]);
    InitializeState(options_.optimizer, options_.dim, layout().state(record));
    work.fresh_keys.push_back(batch.keys()[i]);
    work.fresh_rows.push_back(AsRow(record));
  }
  if (work.fresh_keys.empty()) return;
  InitializeRows(options_.initializer, work.fresh_keys, {work.fresh_rows, options_.dim});
}

void Table::ApplyPush(RowBatch& batch) {
  Claim(batch);
  InitializeCreated(batch);
  const std::span<const RowBatch::Part> parts = batch.parts();
  CountSteps(parts);
  for (size_t begin = 0; begin < parts.size();) {
    size_t end = begin + 1;
    while (end < parts.size() && SameStep(parts[end].step, parts[begin].step)) ++end;
    ApplyRun(batch, parts.subspan(begin, end - begin));
    begin = end;
  }
}

void Table::CountSteps(std::span<const RowBatch::Part> parts) {
  for (const RowBatch::Part& part : parts) {
    counters_.rows_pushed += part.size() - part.refused;
    counters_.highest_step = std::max(counters_.highest_step, part.step.step);
    workspace_.histograms.push_staleness.Add(counters_.highest_step - part.step.step);
  }
}

// Parts of one step and learning rate.
void Table::ApplyRun(RowBatch& batch, std::span<const RowBatch::Part> run) {
  TableWorkspace& work = workspace_;
  work.records.clear();
  work.gradients.clear();
  for (const RowBatch::Part& part : run) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      const Slot slot = batch.slots()[i];
      if (slot == kNoSlot) continue;
      std::byte* record = store_->record(slot);
      work.records.push_back(record);
      work.gradients.push_back(batch.rows()[i]);
    }
  }
  DurationHistogram& times =
      work.histograms.optimizer_apply[static_cast<size_t>(options_.optimizer.kind)];
  const std::span<std::byte* const> records = work.records;
  const std::span<const ConstRowPointer> gradients = work.gradients;
  for (size_t first = 0; first < records.size(); first += kRowsAtATime) {
    const size_t count = std::min<size_t>(kRowsAtATime, records.size() - first);
    const auto begin = std::chrono::steady_clock::now();
    ApplyGradients(options_.optimizer, run.front().step, layout(), records.subspan(first, count),
                   {gradients.subspan(first, count), options_.dim});
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
    times.Add(static_cast<uint64_t>(taken.count()));
  }
  for (const RowBatch::Part& part : run) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      const Slot slot = batch.slots()[i];
      if (slot != kNoSlot) Touch(layout().meta(store_->record(slot)), part.lsn);
    }
  }
}

void Table::Upsert(RowBatch& batch) {
  Claim(batch);
  for (const RowBatch::Part& part : batch.parts()) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      const Slot slot = batch.slots()[i];
      if (slot == kNoSlot) continue;
      std::byte* record = store_->record(slot);
      std::memcpy(record, batch.rows()[i], options_.dim * sizeof(float));
      InitializeState(options_.optimizer, options_.dim, layout().state(record));
      *layout().meta(record) = RowMeta{.lsn = part.lsn};
    }
  }
}

void Table::Remove(RowBatch& batch) {
  for (RowBatch::Part& part : batch.parts()) part.updated = store_->Erase(batch.keys(part));
}

std::vector<Key> Table::StoredKeys() const {
  std::vector<Key> all;
  all.reserve(store_->rows());
  std::vector<Key> keys;
  std::vector<Slot> slots;
  for (int64_t cursor = 0; cursor != -1;) {
    keys.clear();
    slots.clear();
    store_->Scan(&cursor, kScanAtATime, &keys, &slots);
    all.insert(all.end(), keys.begin(), keys.end());
  }
  return all;
}

int64_t Table::CopyRecords(std::span<const Key> keys, bool with_state, std::byte* out) {
  const size_t columns = layout().dim + (with_state ? layout().state_columns : 0);
  std::vector<Slot>& slots = workspace_.slots;
  slots.resize(keys.size());
  store_->Find(keys, slots);
  int64_t copied = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (slots[i] == kNoSlot) continue;
    std::memcpy(out, &keys[i], sizeof(Key));
    std::memcpy(out + sizeof(Key), store_->record(slots[i]), columns * sizeof(float));
    out += sizeof(Key) + columns * sizeof(float);
    ++copied;
  }
  return copied;
}

}  // namespace hotrow
