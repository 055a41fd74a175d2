#include "server/table/table.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "server/table/value_check.h"

namespace hotrow {
namespace {

// Rows worked on at a time: their records and gradients stay in the second-level cache from the
// first touch to the last.
constexpr int64_t kRowsAtATime = 1024;

bool SameStep(const StepOptions& a, const StepOptions& b) {
  return a.step == b.step && a.learning_rate == b.learning_rate;
}

void Touch(RowMeta* meta, uint64_t lsn) {
  meta->lsn = lsn;
  meta->flags |= kRowDirty;
  if (meta->step_count != std::numeric_limits<uint32_t>::max()) ++meta->step_count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> Table::Create(TableOptions options, const TierSupply& supply,
                                                     TableWorkspace& workspace) {
  absl::StatusOr<TierParts> tiers = MakeTiers(options, supply);
  if (!tiers.ok()) return tiers.status();
  return std::unique_ptr<Table>(new Table(std::move(options), *std::move(tiers), workspace));
}

Table::Table(TableOptions options, TierParts tiers, TableWorkspace& workspace)
    : options_(std::move(options)),
      workspace_(workspace),
      tiers_(std::move(tiers), ScorePolicy(options_.eviction, options_.eviction_decay),
             workspace.tiers) {}

bool Table::GradientsInBound(std::span<const ConstRowPointer> rows) const {
  return MagnitudesWithin({rows, options_.dim}, options_.gradient_bound);
}

bool Table::RowsFinite(std::span<const ConstRowPointer> rows) const {
  return MagnitudesWithin({rows, options_.dim}, std::numeric_limits<float>::max());
}

absl::StatusOr<uint32_t> Table::Pull(std::span<const Key> keys, std::span<const RowPointer> rows,
                                     ReadKind kind) {
  TableWorkspace& work = workspace_;
  const int64_t count = static_cast<int64_t>(keys.size());
  uint32_t initial = 0;
  tiers_.Begin(count, counters_.highest_step);
  for (int64_t begin = 0; begin < count; begin += kRowsAtATime) {
    const int64_t size = std::min(kRowsAtATime, count - begin);
    const auto some = keys.subspan(begin, size);
    const auto targets = rows.subspan(begin, size);
    const absl::Status read = tiers_.Read(some, {targets, options_.dim}, kind, &work.unknown);
    if (!read.ok()) return read;
    if (work.unknown.empty()) continue;
    work.fresh_keys.clear();
    work.fresh_rows.clear();
    for (const size_t i : work.unknown) {
      work.fresh_keys.push_back(some[i]);
      work.fresh_rows.push_back(targets[i]);
    }
    InitializeRows(options_.initializer, work.fresh_keys, {work.fresh_rows, options_.dim});
    initial += static_cast<uint32_t>(work.fresh_keys.size());
  }
  counters_.rows_pulled += keys.size();
  counters_.rows_pulled_initial += initial;
  return initial;
}

absl::Status Table::Resolve(RowBatch& batch) {
  batch.slots().resize(batch.size());
  batch.created().resize(batch.size());
  tiers_.Begin(batch.size(), counters_.highest_step);
  return tiers_.Resolve(batch.keys(), batch.slots(), batch.created());
}

void Table::Abandon(RowBatch& batch) {
  tiers_.Abandon(batch.keys(), batch.slots(), batch.created());
}

void Table::CountParts(RowBatch& batch) {
  for (RowBatch::Part& part : batch.parts()) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      part.created += batch.created()[i];
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
    if (batch.created()[i] == 0) continue;
    std::byte* record = tiers_.record(batch.slots()[i]);
    InitializeState(options_.optimizer, options_.dim, layout().state(record));
    work.fresh_keys.push_back(batch.keys()[i]);
    work.fresh_rows.push_back(AsRow(record));
  }
  if (work.fresh_keys.empty()) return;
  InitializeRows(options_.initializer, work.fresh_keys, {work.fresh_rows, options_.dim});
}

void Table::ApplyPush(RowBatch& batch) {
  CountParts(batch);
  InitializeCreated(batch);
  const std::span<const RowBatch::Part> parts = batch.parts();
  CountSteps(parts);
  for (size_t begin = 0; begin < parts.size();) {
    size_t end = begin + 1;
    while (end < parts.size() && SameStep(parts[end].step, parts[begin].step)) ++end;
    ApplyRun(batch, parts.subspan(begin, end - begin));
    begin = end;
  }
  tiers_.Settle(batch.keys(), batch.slots());
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
      std::byte* record = tiers_.record(slot);
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
      if (slot != kNoSlot) Touch(layout().meta(tiers_.record(slot)), part.lsn);
    }
  }
}

void Table::Upsert(RowBatch& batch) {
  CountParts(batch);
  for (const RowBatch::Part& part : batch.parts()) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      const Slot slot = batch.slots()[i];
      if (slot == kNoSlot) continue;
      std::byte* record = tiers_.record(slot);
      std::memcpy(record, batch.rows()[i], options_.dim * sizeof(float));
      InitializeState(options_.optimizer, options_.dim, layout().state(record));
      RowMeta* const meta = layout().meta(record);
      *meta = RowMeta{.lsn = part.lsn, .flags = (meta->flags & kRowBelow) | kRowDirty};
    }
  }
  tiers_.Settle(batch.keys(), batch.slots());
}

absl::Status Table::Remove(RowBatch& batch) {
  std::vector<uint8_t>& removed = workspace_.found;
  removed.resize(batch.size());
  if (absl::Status status = tiers_.Remove(batch.keys(), removed); !status.ok()) return status;
  for (RowBatch::Part& part : batch.parts()) {
    part.updated = std::count(removed.begin() + part.begin, removed.begin() + part.end, 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Table::CopyRecords(std::span<const Key> keys, bool with_state,
                                           std::byte* out) {
  const size_t columns = layout().dim + (with_state ? layout().state_columns : 0);
  TableWorkspace& work = workspace_;
  work.copies.resize(keys.size() * layout().row_bytes);
  work.records.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    work.records.push_back(work.copies.data() + i * layout().row_bytes);
  }
  work.scores.resize(keys.size());
  work.found.resize(keys.size());
  const absl::Status read = tiers_.ReadRecords({keys, work.records, work.scores}, work.found);
  if (!read.ok()) return read;
  int64_t copied = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (work.found[i] == 0) continue;
    std::memcpy(out, &keys[i], sizeof(Key));
    std::memcpy(out + sizeof(Key), work.records[i], columns * sizeof(float));
    out += sizeof(Key) + columns * sizeof(float);
    ++copied;
  }
  return copied;
}

int64_t Table::allocated_bytes() const {
  const RowStoreTier* const warm = tiers_.warm();
  return tiers_.hot().allocated_bytes() + (warm == nullptr ? 0 : warm->Size().used_bytes);
}

}  // namespace hotrow
