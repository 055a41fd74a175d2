#include "server/shard/push_batch.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "server/shard/request_errors.h"

namespace hotrow {
namespace {

wire::ErrorInfo Refusal(wire::ErrorKind kind, const std::string& table, std::string_view message,
                        std::string hint) {
  wire::ErrorInfo error;
  error.kind = kind;
  error.message = fmt::format("table '{}': {}", table, message);
  error.hint = std::move(hint);
  error.table = table;
  return error;
}

wire::ErrorInfo CheckHeader(const wire::SubPush& sub_push, const wire::SubPushTable& table,
                            const TableOptions& options) {
  const bool remove = sub_push.operation == wire::Operation::kRemove;
  const int64_t dim = remove ? 0 : options.dim;
  if (table.dim != dim) {
    return Refusal(wire::ErrorKind::kSchemaMismatch, options.name,
                   fmt::format("rows have dim {}, not {}", dim, table.dim),
                   "open the table anew: it may have been dropped and made with another dim");
  }
  if (sub_push.operation != wire::Operation::kPush) return {};
  if (!(table.learning_rate >= 0.0F && table.learning_rate <= wire::kMaxLearningRate)) {
    return Refusal(wire::ErrorKind::kInvalidArgument, options.name,
                   fmt::format("learning rate {} is not in 0 .. 1e15", table.learning_rate),
                   "check what sets the rate, such as a scheduler");
  }
  if (table.step == 0 || table.step > wire::kMaxStep) {
    return Refusal(wire::ErrorKind::kInvalidArgument, options.name,
                   fmt::format("step {} is not in 1 .. 2^53", table.step),
                   "count training steps from 1");
  }
  return {};
}

bool AllIn(std::span<const Key> keys, uint32_t partition, uint64_t salt, int partition_bits) {
  uint32_t difference = 0;
  for (const Key key : keys) {
    difference |= PartitionOfHash(HashKey(key, salt), partition_bits) ^ partition;
  }
  return difference == 0;
}

}  // namespace

wire::ErrorInfo PushBatch::Gather(const wire::SubPush& sub_push, const wire::Payload& part) {
  operation_ = sub_push.operation;
  const size_t first_piece = pieces_.size();
  size_t offset = 0;
  for (const wire::SubPushTable& table : sub_push.tables) {
    wire::ErrorInfo error = GatherTable(sub_push, table, part, offset);
    if (!error.ok()) {
      Undo(first_piece);
      return error;
    }
    offset += table.payload_bytes();
  }
  sub_pushes_.push_back({first_piece, pieces_.size()});
  return {};
}

wire::ErrorInfo PushBatch::GatherTable(const wire::SubPush& sub_push,
                                       const wire::SubPushTable& table, const wire::Payload& part,
                                       size_t offset) {
  if (sub_push.operation == wire::Operation::kSkip) {
    wire::ErrorInfo error;
    error.kind = wire::ErrorKind::kInvalidArgument;
    error.message = "a skip has no tables";
    error.hint = "send the number alone";
    return error;
  }
  Table* found = state_.tables.Find(table.table_id);
  if (found == nullptr) return NoSuchTable(table.table_id);
  if (auto error = CheckHeader(sub_push, table, found->options()); !error.ok()) return error;
  const size_t index = WorkOf(table.table_id, found);
  for (size_t i = sub_pushes_.empty() ? 0 : sub_pushes_.back().end; i < pieces_.size(); ++i) {
    if (pieces_[i].work != index) continue;
    return Refusal(wire::ErrorKind::kInvalidArgument, found->options().name,
                   "a sub-push names it twice", "name each table of a sub-push once");
  }
  RowBatch& rows = works_[index]->rows;
  const Duplicates duplicates =
      sub_push.operation == wire::Operation::kPush ? Duplicates::kSum : Duplicates::kLastWins;
  const RowBatch::Part& added = rows.Append(part, offset, table, duplicates);
  pieces_.push_back({index, rows.parts().size() - 1});
  rows_ += added.size();
  if (sub_push.operation == wire::Operation::kPush) {
    found->counters().keys_pushed += table.key_count;
    found->counters().keys_pushed_unique += added.size();
  }
  return CheckRows(sub_push, *found, rows, added);
}

wire::ErrorInfo PushBatch::CheckRows(const wire::SubPush& sub_push, Table& table, RowBatch& rows,
                                     const RowBatch::Part& part) const {
  const TableOptions& options = table.options();
  if (!options.KeysInRange(rows.keys(part))) return KeyOutOfRange(options);
  if (!AllIn(rows.keys(part), sub_push.partition, options.table_salt,
             state_.shard.strand_map.partition_bits())) {
    return Refusal(wire::ErrorKind::kInvalidArgument, options.name,
                   fmt::format("a key does not belong to partition {}", sub_push.partition),
                   "share keys out by the table's salt and the map's number of partitions");
  }
  if (sub_push.operation == wire::Operation::kPush && !table.GradientsInBound(rows.rows(part))) {
    ++table.counters().gradients_refused;
    state_.shard.counters.gradients_refused.Add();
    if (!table.RowsFinite(rows.rows(part))) {
      ++table.counters().gradients_nonfinite;
      return Refusal(wire::ErrorKind::kInvalidArgument, options.name,
                     "a gradient, summed over its key, is NaN or infinite",
                     "skip the step, or find where the value comes from");
    }
    return Refusal(wire::ErrorKind::kInvalidArgument, options.name,
                   fmt::format("a gradient, summed over its key, is above the bound of {}",
                               options.gradient_bound),
                   "clip gradients; gradient_bound is set with the table");
  }
  if (sub_push.operation == wire::Operation::kUpsert && !table.RowsFinite(rows.rows(part))) {
    return Refusal(wire::ErrorKind::kInvalidArgument, options.name, "a weight is not finite",
                   "check the rows before they are loaded");
  }
  return {};
}

size_t PushBatch::WorkOf(uint32_t id, Table* table) {
  const auto [found, added] = work_of_table_.try_emplace(id, works_used_);
  if (!added) return found->second;
  if (works_used_ == works_.size()) works_.push_back(std::make_unique<TableWork>());
  works_[works_used_]->id = id;
  works_[works_used_]->table = table;
  return works_used_++;
}

void PushBatch::Undo(size_t first_piece) {
  while (pieces_.size() > first_piece) {
    RowBatch& rows = works_[pieces_.back().work]->rows;
    rows_ -= rows.parts().back().size();
    rows.DropLastPart();
    pieces_.pop_back();
  }
}

void PushBatch::SetLsn(uint64_t lsn) {
  for (size_t i = sub_pushes_.back().begin; i < sub_pushes_.back().end; ++i) {
    works_[pieces_[i].work]->rows.parts()[pieces_[i].part].lsn = lsn;
  }
}

absl::Status PushBatch::Apply() {
  if (operation_ == wire::Operation::kRemove) {
    for (size_t i = 0; i < works_used_; ++i) {
      const absl::Status status = works_[i]->table->Remove(works_[i]->rows);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  if (absl::Status status = ResolveAll(); !status.ok()) return status;
  for (size_t i = 0; i < works_used_; ++i) {
    TableWork& work = *works_[i];
    if (operation_ == wire::Operation::kPush) {
      work.table->ApplyPush(work.rows);
    } else {
      work.table->Upsert(work.rows);
    }
  }
  return absl::OkStatus();
}

// In all tables, or in none.
absl::Status PushBatch::ResolveAll() {
  for (size_t i = 0; i < works_used_; ++i) {
    const absl::Status status = works_[i]->table->Resolve(works_[i]->rows);
    if (status.ok()) continue;
    for (size_t j = 0; j < i; ++j) works_[j]->table->Abandon(works_[j]->rows);
    return status;
  }
  return absl::OkStatus();
}

void PushBatch::Report(size_t index, wire::SubPushResult* result) const {
  for (size_t i = sub_pushes_[index].begin; i < sub_pushes_[index].end; ++i) {
    TableWork& work = *works_[pieces_[i].work];
    const RowBatch::Part& part = work.rows.parts()[pieces_[i].part];
    result->counts.push_back({work.id, static_cast<uint32_t>(part.updated),
                              static_cast<uint32_t>(part.created),
                              static_cast<uint32_t>(part.refused)});
    if (part.refused == 0) continue;
    if (result->error.ok()) {
      result->error = Refusal(wire::ErrorKind::kCapacityFull, work.table->options().name,
                              "new keys found no room in the memory budget; known keys were served",
                              "raise the memory budget, remove rows, or add shards");
    }
    for (int64_t row = part.begin; row < part.end; ++row) {
      if (work.rows.slots()[row] == kNoSlot) result->refused_keys.push_back(work.rows.keys()[row]);
    }
  }
}

void PushBatch::Clear() {
  for (size_t i = 0; i < works_used_; ++i) works_[i]->rows.Clear();
  works_used_ = 0;
  work_of_table_.clear();
  pieces_.clear();
  sub_pushes_.clear();
  rows_ = 0;
}

}  // namespace hotrow
