#include "client/src/push_payload.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/src/client_error.h"

namespace hotrow::client {
namespace {

// Every value within the bound, which is finite: NaN is not within anything.
bool RowWithin(const float* row, int64_t dim, float bound) {
  uint32_t beyond = 0;  // a word, not a bool: compilers vectorise this reduction
  for (int64_t c = 0; c < dim; ++c) beyond |= std::fabs(row[c]) <= bound ? 0U : 1U;
  return beyond == 0;
}

absl::Status RefuseRow(const PushInput& input, Key key, const float* row, float bound) {
  const std::string& table = input.table->info.schema.name;
  if (input.operation == wire::Operation::kUpsert) {
    return InvalidInput(table,
                        absl::StrCat("table '", table, "': the row for key ",
                                     static_cast<int64_t>(key), " is NaN or infinite"),
                        "Nothing was sent. Check the rows before they are loaded.");
  }
  const std::string gradient = absl::StrCat("table '", table, "': the gradient of key ",
                                            static_cast<int64_t>(key), ", summed over this push, ");
  if (!RowWithin(row, input.table->info.schema.dim, std::numeric_limits<float>::max())) {
    return InvalidInput(table, absl::StrCat(gradient, "is NaN or infinite"),
                        "Nothing was sent. Skip the step, or find where the value comes from.");
  }
  return InvalidInput(
      table, absl::StrCat(gradient, "is above the bound ", bound),
      "Nothing was sent. Clip gradients or skip the step; gradient_bound is set with the table.");
}

// Rows of distinct keys need no sum: each is copied to its place.
void PlaceRows(const PushInput& input, const BatchWorkspace& workspace, int64_t dim, float* out) {
  const std::span<const int32_t> inverse = workspace.deduper.inverse();
  for (size_t i = 0; i < inverse.size(); ++i) {
    const int64_t target = workspace.target_of_key[inverse[i]];
    std::memcpy(out + target * dim, input.rows.data() + i * dim, dim * sizeof(float));
  }
}

void SumRows(const PushInput& input, BatchWorkspace& workspace, int64_t dim, float* out) {
  const std::span<const int32_t> inverse = workspace.deduper.inverse();
  workspace.targets.resize(inverse.size());
  workspace.rows.resize(inverse.size());
  for (size_t i = 0; i < inverse.size(); ++i) {
    workspace.targets[i] = workspace.target_of_key[inverse[i]];
    workspace.rows[i] = AsRow(static_cast<const void*>(input.rows.data() + i * dim));
  }
  SumInput sums;
  sums.inverse = workspace.targets;
  sums.rows = {workspace.rows, dim};
  sums.unique_count = static_cast<int64_t>(workspace.deduper.unique().size());
  workspace.summer.Run(sums, out);
}

grpc::Slice OrderedKeys(const BatchWorkspace& workspace) {
  const std::span<const Key> unique = workspace.deduper.unique();
  wire::PayloadBuffer buffer(unique.size_bytes());
  std::byte* out = buffer.bytes().data();
  for (const int32_t i : workspace.groups.order) {
    std::memcpy(out, &unique[i], sizeof(Key));
    out += sizeof(Key);
  }
  return std::move(buffer).Release();
}

absl::Status CheckRows(const PushInput& input, const BatchWorkspace& workspace, int64_t dim,
                       const float* rows) {
  const float bound = input.operation == wire::Operation::kPush
                          ? input.table->info.schema.gradient_bound
                          : std::numeric_limits<float>::max();
  for (size_t i = 0; i < workspace.groups.order.size(); ++i) {
    const float* row = rows + static_cast<int64_t>(i) * dim;
    if (!RowWithin(row, dim, bound)) [[unlikely]] {
      return RefuseRow(input, workspace.deduper.unique()[workspace.groups.order[i]], row, bound);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void PushPayload::AppendPart(const Segment& segment, std::vector<grpc::Slice>& out) const {
  const size_t row_bytes = static_cast<size_t>(dim) * sizeof(float);
  out.push_back(keys.sub(segment.begin * sizeof(Key), segment.end * sizeof(Key)));
  if (dim > 0) out.push_back(rows.sub(segment.begin * row_bytes, segment.end * row_bytes));
}

absl::StatusOr<PushPayload> BuildPushPayload(const PushInput& input, const wire::ShardMap& map,
                                             BatchWorkspace& workspace) {
  workspace.deduper.Run(input.keys);
  const std::span<const Key> unique = workspace.deduper.unique();
  GroupByPartition(unique, input.table->salt, map, workspace);
  PushPayload payload;
  payload.starts = workspace.groups.starts;
  payload.keys = OrderedKeys(workspace);
  if (input.operation == wire::Operation::kRemove) return payload;

  payload.dim = input.table->info.schema.dim;
  workspace.target_of_key.resize(unique.size());
  for (size_t i = 0; i < unique.size(); ++i) {
    workspace.target_of_key[workspace.groups.order[i]] = static_cast<int32_t>(i);
  }
  wire::PayloadBuffer buffer(unique.size() * payload.dim * sizeof(float));
  float* const rows = reinterpret_cast<float*>(buffer.bytes().data());
  const bool distinct = unique.size() == input.keys.size();
  if (distinct || input.operation == wire::Operation::kUpsert) {
    PlaceRows(input, workspace, payload.dim, rows);
  } else {
    SumRows(input, workspace, payload.dim, rows);
  }
  const absl::Status checked = CheckRows(input, workspace, payload.dim, rows);
  if (!checked.ok()) return checked;
  payload.rows = std::move(buffer).Release();
  return payload;
}

}  // namespace hotrow::client
