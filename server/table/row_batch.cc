#include "server/table/row_batch.h"

#include <algorithm>

namespace hotrow {

RowBatch::Part& RowBatch::Append(const wire::Payload& payload, size_t offset,
                                 const wire::SubPushTable& table, Duplicates duplicates) {
  Part part;
  part.begin = size();
  part.end = part.begin + table.key_count;
  part.step = {.learning_rate = table.learning_rate, .step = table.step};
  keys_.resize(part.end);
  const std::span<Key> keys = std::span(keys_).subspan(part.begin, table.key_count);
  payload.CopyTo(offset, std::as_writable_bytes(keys));
  if (table.dim > 0) {
    const size_t located = locator_.rows().size();
    locator_.Append(payload, offset + keys.size_bytes(), table.key_count, table.dim);
    const auto rows = locator_.rows().subspan(located);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }
  deduper_.Run(keys);
  if (deduper_.unique().size() != keys.size()) Unite(part, table.dim, duplicates);
  return parts_.emplace_back(part);
}

void RowBatch::Unite(Part& part, int64_t dim, Duplicates duplicates) {
  const std::span<const Key> unique = deduper_.unique();
  const std::span<const int32_t> inverse = deduper_.inverse();
  std::copy(unique.begin(), unique.end(), keys_.begin() + part.begin);
  part.end = part.begin + static_cast<int64_t>(unique.size());
  keys_.resize(part.end);
  if (dim == 0) return;
  const std::span<ConstRowPointer> rows = std::span(rows_).subspan(part.begin);
  if (duplicates == Duplicates::kLastWins) {
    // A target is never behind its occurrences (first-occurrence order), so a row that is still to
    // be read is never overwritten.
    for (size_t i = 0; i < inverse.size(); ++i) rows[inverse[i]] = rows[i];
  } else {
    auto sums = std::make_unique_for_overwrite<float[]>(unique.size() * dim);
    summer_.Run({.inverse = inverse,
                 .source = {},
                 .weights = {},
                 .rows = {rows, dim},
                 .unique_count = static_cast<int64_t>(unique.size())},
                sums.get());
    for (size_t i = 0; i < unique.size(); ++i) rows[i] = AsRow(sums.get() + i * dim);
    sums_.push_back(std::move(sums));
  }
  rows_.resize(part.end);
}

void RowBatch::DropLastPart() {
  const Part& part = parts_.back();
  keys_.resize(part.begin);
  if (!rows_.empty()) rows_.resize(part.begin);
  parts_.pop_back();
}

void RowBatch::Clear() {
  if (keys_.capacity() > kKeptRows) {
    *this = RowBatch();
    return;
  }
  keys_.clear();
  rows_.clear();
  parts_.clear();
  slots_.clear();
  created_.clear();
  sums_.clear();
  locator_.Clear();
}

}  // namespace hotrow
